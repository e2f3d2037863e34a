import * as z from "zod";

import { escapeHtml } from "../../../shared/core/text.ts";
import { DeadLetter, deadLettersIn, eventsIn, newestOf, PublishedEvent } from "../events/event-log.ts";
import { type Answer, jsonAnswer } from "../server/http-message.ts";
import type { LocalPath, LocalRequest } from "../server/respond.ts";
import { wantsJson } from "./forms.ts";
import { colors, policyOf } from "./html.ts";

const EventsQuery = z.object({
  page: z.coerce.number().int().min(1).default(1),
  page_size: z.coerce.number().int().min(1).max(500).default(50),
  type: z.string().optional(),
  account_id: z.string().optional(),
  format: z.enum(["html", "json"]).optional(),
});
type EventsQuery = z.output<typeof EventsQuery>;

type Listing = { items: PublishedEvent[]; page: number; page_size: number; total: number; dead_letters: DeadLetter[] };

/** `/_local/events`: the events published on this machine, newest first, as a page or as JSON. */
export const eventPaths = (dataDir: string): LocalPath[] => [
  { method: "GET", path: "/_local/events", handle: (request) => answerEvents(dataDir, request) },
];

async function answerEvents(dataDir: string, { headers, query }: LocalRequest): Promise<Answer> {
  // An empty field in the form means no filter.
  const filters = Object.fromEntries([...query].filter(([, value]) => value !== ""));
  const { success, data, error } = EventsQuery.safeParse(filters);
  if (!success) return jsonAnswer(422, { message: z.prettifyError(error) });
  const listing = await listEvents(dataDir, data);
  const isJson = wantsJson({ headers, query: new URLSearchParams(filters) });
  return isJson ? jsonAnswer(200, listing) : pageAnswer(page(listing, data));
}

async function listEvents(dataDir: string, { page, page_size, type, account_id }: EventsQuery): Promise<Listing> {
  const events = await newestOf(eventsIn(dataDir), PublishedEvent);
  const matching = events.filter(
    (event) =>
      (type === undefined || event.type === type) && (account_id === undefined || event.account_id === account_id),
  );
  return {
    items: matching.slice((page - 1) * page_size, page * page_size),
    page,
    page_size,
    total: matching.length,
    dead_letters: await newestOf(deadLettersIn(dataDir), DeadLetter),
  };
}

const style = `${colors}
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; }
nav { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; padding: 0.75rem 1.25rem; border-bottom: 1px solid var(--line); }
nav strong { margin-right: auto; }
a { color: var(--accent); text-decoration: none; }
main { max-width: 72rem; margin: 0 auto; padding: 1rem 1.25rem 4rem; overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; }
@media (min-width: 40rem) { td:nth-child(2) { white-space: nowrap; } }
th, td { padding: 0.45rem 0.75rem 0.45rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
form, .pages { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: end; margin: 1rem 0; }
input, button { font: inherit; padding: 0.3rem 0.5rem; border: 1px solid var(--edge); border-radius: 0.25rem; background: var(--paper); color: inherit; }
label { max-width: 100%; }
input { display: block; box-sizing: border-box; max-width: 100%; }
pre { margin: 0.5rem 0; padding: 0.75rem; background: var(--field); white-space: pre-wrap; font-size: 0.85rem; }
.dead { padding: 0.1rem 1rem; border: 1px solid #c0392b; border-radius: 0.25rem; }
`;

const policy = policyOf(style);

const pageAnswer = (html: string): Answer => ({
  status: 200,
  headers: { "content-type": "text/html; charset=utf-8", "content-security-policy": policy },
  body: Buffer.from(html),
});

const page = (listing: Listing, query: EventsQuery): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Events</title>
    <style>${style}</style>
  </head>
  <body>
    <nav><strong>Events on this machine</strong><a href="/docs">Reference</a><a href="/_local/events?format=json">JSON</a></nav>
    <main>
      <h1>Events</h1>
      ${deadLetters(listing.dead_letters)}
      <form>
        <label>Type <input name="type" value="${escapeHtml(query.type ?? "")}" /></label>
        <label>Account <input name="account_id" size="36" value="${escapeHtml(query.account_id ?? "")}" /></label>
        <button>Show</button>
      </form>
      ${listing.items.length === 0 ? "<p>No events match.</p>" : table(listing.items)}
      ${pages(listing, query)}
    </main>
  </body>
</html>
`;

function deadLetters(letters: readonly DeadLetter[]): string {
  if (letters.length === 0) return "";
  const rows = letters
    .slice(0, 20)
    .map(({ at, pk, sk, reason }) => `<li>${escapeHtml(`${at} ${pk} ${sk}: ${reason}`)}</li>`);
  return `<section class="dead"><h2>Not delivered: ${letters.length}</h2><ul>${rows.join("")}</ul></section>`;
}

const table = (events: readonly PublishedEvent[]): string =>
  `<table><thead><tr><th>Time</th><th>Type</th><th>Resource</th><th>Account</th><th>By</th></tr></thead>
      <tbody>${events.map(row).join("\n")}</tbody></table>`;

function row(event: PublishedEvent): string {
  const { id, type, timestamp, account_id, resource, actor } = event;
  const cells = [timestamp, type, `${resource.type}/${resource.id}`, account_id, `${actor.type} ${actor.id}`];
  const details = `<details><summary>${escapeHtml(id)}</summary><pre>${escapeHtml(JSON.stringify(event, null, 2))}</pre></details>`;
  const [first = "", ...others] = cells.map(escapeHtml);
  return `<tr><td>${first}${details}</td>${others.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
}

function pages({ page, page_size, total }: Listing, query: EventsQuery): string {
  const filters = { type: query.type, account_id: query.account_id };
  const link = (to: number, text: string): string => {
    const target = new URLSearchParams({ page: String(to), page_size: String(page_size) });
    for (const [name, value] of Object.entries(filters)) if (value !== undefined) target.set(name, value);
    return `<a href="?${escapeHtml(target.toString())}">${text}</a>`;
  };
  const last = Math.max(1, Math.ceil(total / page_size));
  return `<p class="pages"><span>${total} events, page ${page} of ${last}</span>
      ${page > 1 ? link(page - 1, "Newer") : ""}${page < last ? link(page + 1, "Older") : ""}</p>`;
}
