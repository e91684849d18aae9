"""The leader's tasks run until they are cancelled, and end in order."""

import asyncio

from commentsvc.cluster.leader import SoleLeader, meanwhile


def test_the_only_instance_always_leads_and_works_until_it_is_cancelled() -> None:
    events: list[str] = []

    async def work() -> None:
        events.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            events.append("ended")

    async def failing() -> None:
        raise ValueError("one work that fails does not end the others")

    async def scene() -> None:
        leader = SoleLeader()
        assert leader.leads()
        async with meanwhile(leader.run(failing, work, work)):
            while len(events) < 2:  # noqa: ASYNC110 - the list has no event
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert events == ["begun", "begun"]
        assert events == ["begun", "begun", "ended", "ended"]

    asyncio.run(asyncio.wait_for(scene(), 120))
