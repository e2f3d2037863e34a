import { covers, type Permissions } from "../../auth/permissions.ts";
import { chunk } from "../../core/concurrency.ts";
import { invalidAt, type InvalidInput } from "../../core/errors.ts";
import type { StoredDomain } from "../../domains/domain.ts";
import { domainByRef, scopesOfDomain } from "../../domains/find.ts";
import { visibleDomains } from "../../domains/list.ts";
import { rangeOfRows, type List } from "../../table/ranked-list.ts";
import { pagesOf } from "../../table/reads.ts";
import type { Reader } from "../../table/table.ts";
import type { FoundMailbox } from "./find.ts";
import type { MailboxFilter } from "./list.ts";
import { mailboxesWithDirectGrant, mailboxesOfRows, mailboxesReferred } from "./lookup.ts";
import { mailboxesIn, mailboxesOf, type Mailbox, type StoredMailbox } from "./mailbox.ts";
import { isFound } from "./search.ts";
import { mailboxViews } from "./view.ts";

/** The most mailboxes of a chunk. */
const mailboxesPerChunk = 250;

/** The rows of a list in order, one chunk at a time. */
const rowsOf = (table: Reader, list: List) => pagesOf(table, rangeOfRows(list), mailboxesPerChunk);

async function* inDomain(table: Reader, accountId: string, { id }: StoredDomain): MailboxSource {
  for await (const rows of rowsOf(table, mailboxesIn(accountId, id))) {
    yield await mailboxesReferred(table, accountId, rows);
  }
}

/** The table, and the permissions of the principal who exports. */
type Exporter = { table: Reader; permissions: Permissions };

const mostDomains = 100_000;

const tooManyDomains = (): InvalidInput =>
  invalidAt(
    ["body", "domain"],
    `The export covers more than ${mostDomains.toLocaleString("en-US")} domains. Choose one domain`,
    "too_broad",
  );

/** Mailboxes, one chunk at a time. */
type MailboxSource = AsyncGenerator<StoredMailbox[]>;

/**
 * The mailboxes of the account, or of the domain or workspace of the filter, as sources that can be read at the same
 * time. Leaves out the mailboxes that the principal may not export. Throws 422 `too_broad` if more than 100,000 domains
 * would have to be searched.
 */
async function sourcesOf(
  accountId: string,
  { domain: ref, workspace_id }: MailboxFilter,
  exporter: Exporter,
): Promise<MailboxSource[]> {
  const { table, permissions } = exporter;
  const mayExportAll = covers(permissions, "mailbox.export", []);
  if (ref === undefined && workspace_id === undefined && mayExportAll) return [inAccount(table, accountId)];
  const named = ref === undefined ? undefined : await domainByRef(table, accountId, ref);
  const namedDomains = named ? [named] : [];
  const span = { capability: "mailbox.export", limit: mostDomains, workspaceId: workspace_id } as const;
  const domains = ref === undefined ? await visibleDomains(accountId, span, exporter) : namedDomains;
  if (!domains) throw tooManyDomains();
  const isIn = (home: StoredDomain): boolean => workspace_id === undefined || home.workspace_id === workspace_id;
  const exportable = domains.filter(
    (home) => isIn(home) && covers(permissions, "mailbox.export", scopesOfDomain(home)),
  );
  const filled = exportable.filter((home) => home.mailbox_count > 0);
  const wholeDomains = filled.map((home) => inDomain(table, accountId, home));
  const isWanted = ({ domain }: FoundMailbox): boolean =>
    isIn(domain) && (ref === undefined || domain.id === named?.id);
  return mayExportAll ? wholeDomains : [...wholeDomains, single(accountId, isWanted, exporter)];
}

async function* inAccount(table: Reader, accountId: string): MailboxSource {
  for await (const rows of rowsOf(table, mailboxesOf(accountId))) yield mailboxesOfRows(rows);
}

/** The mailboxes for which the principal has a direct grant and no wider grant. */
async function* single(
  accountId: string,
  isWanted: (found: FoundMailbox) => boolean,
  exporter: Exporter,
): MailboxSource {
  const named = await mailboxesWithDirectGrant(accountId, "mailbox.export", exporter);
  yield* chunk(
    mailboxesPerChunk,
    named.filter(isWanted).map(({ mailbox }) => mailbox),
  );
}

/**
 * All mailboxes that match a filter and that the principal may export, one chunk at a time. A chunk has up to 250
 * mailboxes. Reads the first chunks of `atOnce` domains at the same time. The mailboxes for which the principal has a
 * direct grant and no wider grant come last. Throws 422 `too_broad` if more than 100,000 domains would have to be
 * searched.
 */
export async function* eachMailbox(
  accountId: string,
  { search, status, ...where }: MailboxFilter,
  exporter: Exporter,
  atOnce = 16,
): AsyncGenerator<Mailbox[]> {
  async function* viewsIn(source: MailboxSource): AsyncGenerator<Mailbox[]> {
    for await (const mailboxes of source) {
      const aliases = new Map(mailboxes.map((mailbox) => [mailbox.id, mailbox.aliases]));
      const isWanted = (view: Mailbox): boolean =>
        (status === undefined || view.status === status) &&
        (search === undefined || isFound({ ...view, aliases: aliases.get(view.id) ?? [] }, view.domain_name, search));
      yield (await mailboxViews(exporter.table, accountId, mailboxes)).filter(isWanted);
    }
  }
  for (const some of chunk(atOnce, await sourcesOf(accountId, where, exporter))) {
    const sources = some.map(viewsIn);
    const firsts = await Promise.all(sources.map((source) => source.next()));
    for (const [index, source] of sources.entries()) {
      const first = firsts[index];
      if (first && first.done !== true) yield first.value;
      yield* source;
    }
  }
}
