// Prints what feed readers find in the feeds that a JSON list on the standard input holds.
import { parseFeed as parse } from "@rowanmanning/feed-parser";
import { parseFeed } from "feedsmith";
import { text } from "node:stream/consumers";
import RssParser from "rss-parser";

function plain({ feed }) {
  return (feed.items ?? feed.entries ?? []).map((entry) => ({
    link: entry.link ?? entry.url ?? entry.links?.[0].href,
    html: entry.content_html ?? entry.content?.value ?? entry.content ?? entry.description?.value ?? entry.description,
    published: entry.date_published ?? entry.published ?? entry.pubDate,
  }));
}

const found = [];
for (const feed of JSON.parse(await text(process.stdin))) {
  const readers = { feedsmith: plain(parseFeed(feed)) };
  if (feed.startsWith("<")) {
    readers["rss-parser"] = (await new RssParser().parseString(feed)).items.map((entry) => ({
      link: entry.link,
      html: entry.content,
      published: entry.isoDate,
    }));
    readers["feed-parser"] = parse(feed).items.map((entry) => ({
      link: entry.url,
      html: entry.content ?? entry.description,
      published: entry.published,
    }));
  }
  found.push(readers);
}
console.log(JSON.stringify(found));
