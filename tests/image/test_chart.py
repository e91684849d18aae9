"""The chart in config/helm, judged by helm and by the schemas of Kubernetes' own API.

`make chart` makes both programs; CI does not, since compiling helm takes minutes.
"""

import subprocess
from pathlib import Path

import pytest
import yaml

from commentsvc.settings import loader
from tests.e2e.program import ROOT

CHART = ROOT / "config/helm"
PROGRAMS = ROOT / "build/kubernetes/bin"
EXAMPLES = sorted((CHART / "ci").glob("*.yaml"))
VERSIONS = ("1.25", "1.37")  # of Kubernetes: the oldest that the chart admits, and the newest
SITE = ("--set=settings.site.origins={https://blog.example}",)
ADDRESS = (*SITE, "--set=settings.server.public_url=https://comments.example")


def program(name: str, *words: object) -> subprocess.CompletedProcess[str]:
    path = PROGRAMS / name
    if not path.exists():
        pytest.skip(f"{name} is not there; `make chart` makes it, and runs these tests")
    return subprocess.run(
        [path, *map(str, words)], capture_output=True, text=True, check=False, timeout=60
    )


def template(*words: object, version: str = VERSIONS[0]) -> subprocess.CompletedProcess[str]:
    return program("helm", "template", "x", CHART, f"--kube-version={version}", *words)


@pytest.mark.parametrize("values", EXAMPLES, ids=lambda path: path.stem)
def test_helm_and_kubernetes_find_no_fault(values: Path, tmp_path: Path) -> None:
    done = program("helm", "lint", "--strict", CHART, "--values", values)
    assert done.returncode == 0, done.stdout + done.stderr
    for version in VERSIONS:
        rendered = template("--values", values, version=version)
        assert rendered.returncode == 0, rendered.stderr
        file = tmp_path / "all.yaml"
        file.write_text(rendered.stdout)
        done = program("kubernetes-validate", "--strict", "-k", version, file)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("passed") == rendered.stdout.count("\nkind: "), done.stdout


@pytest.mark.parametrize("values", EXAMPLES, ids=lambda path: path.stem)
def test_the_service_understands_the_settings_of_a_pod(values: Path, tmp_path: Path) -> None:
    parts = {
        part["kind"]: part
        for part in yaml.safe_load_all(template("--values", values).stdout)
        if part["metadata"]["name"] == "x-commentsvc"
    }
    [container] = parts["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    environ = {each["name"]: each["value"] for each in container["env"]}
    config = None
    if environ.pop("COMMENTSVC_CONFIG", None):
        config = tmp_path / "commentsvc.toml"
        config.write_text(parts["ConfigMap"]["data"]["commentsvc.toml"])
    secrets = {"DATABASE_URL": "postgresql://comments@db/comments", "AUTH_SECRET_KEY": "k" * 32}
    for name in [name for name in environ if name.endswith("_FILE")]:
        secret = tmp_path / Path(environ[name]).name
        secret.write_text(secrets.get(name[len("COMMENTSVC_") : -len("_FILE")], "a password"))
        environ[name] = str(secret)
    settings = loader.load(config, environ)
    given = yaml.safe_load(values.read_text())["settings"]
    for key, value in given["server"].items():
        assert getattr(settings.server, key) in (
            value,
            tuple(value) if isinstance(value, list) else value,
        )
    assert settings.server.listen == "0.0.0.0:8080"
    if "secrets" in values.read_text():
        assert settings.database.url == secrets["DATABASE_URL"]
        assert settings.mail.password == "a password"


def test_every_pod_is_shut_in() -> None:
    for part in yaml.safe_load_all(template(*ADDRESS).stdout):
        if part["kind"] != "StatefulSet":
            continue
        pod = part["spec"]["template"]["spec"]
        assert not pod["automountServiceAccountToken"]
        assert not pod["enableServiceLinks"]
        assert pod["securityContext"]["runAsNonRoot"]
        [container] = pod["containers"]
        assert container["resources"]["limits"]["memory"]
        assert container["securityContext"] == {
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "settings.site.origins is missing: "),
        (SITE, "settings.server.public_url is missing: "),
        ((*ADDRESS, "--set=replicas=2"), "put database.url into a Secret"),
        (
            (*ADDRESS, "--set=replicas=2", "--set=secrets.settings={database.url}"),
            "secrets.name is missing: ",
        ),
        (
            (
                *ADDRESS,
                "--set=replicas=2",
                "--set=secrets.name=s",
                "--set=secrets.settings={database.url}",
            ),
            "put auth.secret_key into a Secret",
        ),
        ((*ADDRESS, "--set=ingress.enabled=true"), "settings.server.trusted_proxies is missing: "),
        ((*ADDRESS, "--set=replica=2"), "replica"),
    ],
)
def test_what_cannot_work_is_refused_with_what_to_write(words: tuple[str, ...], said: str) -> None:
    done = template(*words)
    assert done.returncode != 0
    assert said in done.stderr
