import * as z from "zod";

import { covers } from "../auth/permissions.ts";
import { invalidAt } from "../core/errors.ts";
import { Id, idWithMessage } from "../core/ids.ts";
import { clock, Day, dayOf, daysBetween } from "../core/time.ts";
import { ipKey } from "../dedicated-ips/dedicated-ip.ts";
import { findVisibleIp } from "../dedicated-ips/find.ts";
import { domainKey, noSuchDomain } from "../domains/domain.ts";
import { aheadOfName, domainByRef, expectedDomainId, scopesOfDomain } from "../domains/find.ts";
import { DomainRef } from "../domains/name.ts";
import type { Context, Expected } from "../http/route.ts";
import {
  firstOfLast,
  MailCounts,
  noMail,
  readStatistics,
  statisticsDays,
  statisticsRange,
  type StatisticsSubject,
  sumCounts,
} from "../statistics/statistics.ts";
import type { Ahead } from "../table/read-ahead.ts";

/** The number of days if the query has no `since`. */
const usualDays = 30;
/** The most days of one answer. */
const mostDays = 92;

/** The earliest day of a query. There is no mail before this day. */
const earliestDay: Day = "2000-01-01";
const AskedDay = Day.refine((day) => day >= earliestDay, { error: `Write ${earliestDay} or a later day` });

/** The fault of the days of a query: they are in the wrong order or too many. Undefined if there is none. */
function rangeFault(first: Day, last: Day): string | undefined {
  if (first > last) return "This is after `until`. Write an earlier day";
  return first < firstOfLast(mostDays, last) ? `Ask for ${mostDays} days at most` : undefined;
}

const statisticsQuery = z.strictObject({
  domain: DomainRef.optional().meta({
    description: "The domain, by its name or id. Give either this or `dedicated_ip_id`.",
  }),
  dedicated_ip_id: idWithMessage("Write the id of a dedicated IP")
    .optional()
    .meta({ description: "The dedicated IP. Give either this or `domain`." }),
  since: AskedDay.optional().meta({
    description: `The first day, in UTC. Statistics are kept for ${statisticsDays} days. The default is the first of the ${usualDays} days up to \`until\`.`,
  }),
  until: AskedDay.optional().meta({
    description: `The last day, in UTC. One answer has at most ${mostDays} days. The default is today.`,
  }),
});
export const StatisticsQuery = statisticsQuery
  .superRefine(({ since, until, domain, dedicated_ip_id }, context) => {
    // A day can be compared only if it is valid by itself.
    if (context.issues.length > 0) return;
    const complain = (member: string, message: string) => context.addIssue({ code: "custom", path: [member], message });
    const fault = since === undefined || until === undefined ? undefined : rangeFault(since, until);
    if (fault !== undefined) complain("since", fault);
    if (domain === undefined && dedicated_ip_id === undefined)
      complain("domain", "Write `domain` or `dedicated_ip_id`");
    if (domain !== undefined && dedicated_ip_id !== undefined)
      complain("dedicated_ip_id", "Write either `domain` or `dedicated_ip_id`, not both");
  })
  .meta({ examples: [{ domain: "example.com" }] });
type StatisticsQuery = z.output<typeof StatisticsQuery>;

const DayCounts = MailCounts.extend({ day: Day.meta({ description: "The day, in UTC." }) }).meta({
  id: "MailStatisticsDay",
  description: "The deliveries, bounces and complaints of one day.",
});

export const Statistics = z
  .object({
    domain_id: Id.nullable().meta({ description: "The domain. Null for a dedicated IP." }),
    dedicated_ip_id: Id.nullable().meta({ description: "The dedicated IP. Null for a domain." }),
    since: Day.meta({ description: "The first day." }),
    until: Day.meta({ description: "The last day." }),
    total: MailCounts.meta({ id: "MailStatisticsTotal", description: "The sums of all days." }),
    days: z.array(DayCounts).meta({ description: "Every day from `since` to `until`, also those without mail." }),
  })
  .meta({
    id: "MailStatistics",
    description:
      "The deliveries, bounces and complaints of a domain or a dedicated IP. Each recipient of a mail counts once, but `deferred` counts every attempt.",
  });
type Statistics = z.output<typeof Statistics>;

const noSuchIp = "There is no such dedicated IP in this account, or you cannot see it";

/** The days of a query. Throws 422 if they are in the wrong order or too many, also by a default. */
function daysOf({ since, until }: StatisticsQuery, now: Date): Day[] {
  const last = until ?? dayOf(now);
  const first = since ?? firstOfLast(usualDays, last);
  // The days are compared before they are listed, because the list of the days of a thousand years is long.
  const fault = rangeFault(first, last);
  if (fault !== undefined) throw invalidAt(["query", "since"], fault);
  return daysBetween(first, last);
}

/**
 * The domain or the dedicated IP that a query names. Throws 422 if it does not exist, or if the principal may not see
 * it.
 */
async function subjectOf(
  accountId: string,
  { domain: ref, dedicated_ip_id }: StatisticsQuery,
  context: Context,
): Promise<StatisticsSubject> {
  if (ref !== undefined) {
    const domain = await domainByRef(context.table, accountId, ref);
    if (domain && covers(context.permissions, "domain.view", scopesOfDomain(domain)))
      return { type: "domain", id: domain.id };
    throw invalidAt(["query", "domain"], noSuchDomain, "not_found");
  }
  const ip =
    dedicated_ip_id === undefined
      ? undefined
      : await findVisibleIp({ account_id: accountId, dedicated_ip_id }, ["domain.view"], context);
  if (!ip) throw invalidAt(["query", "dedicated_ip_id"], noSuchIp, "not_found");
  return { type: "dedicated_ip", id: ip.id };
}

/** The items that `mailStatistics` reads. If this process has not seen the domain, only the item of its name. */
export function aheadOfStatistics(accountId: string, query: StatisticsQuery, { seen }: Expected): Ahead {
  const { domain, dedicated_ip_id: ipId, since, until } = query;
  const last = until ?? dayOf(clock());
  const domainId = domain === undefined ? undefined : expectedDomainId(seen, accountId, domain);
  const id = domainId ?? ipId;
  if (id === undefined) return { keys: domain === undefined ? [] : aheadOfName({ seen }, accountId, domain) };
  const subject: StatisticsSubject = { type: domainId === undefined ? "dedicated_ip" : "domain", id };
  return {
    keys: [domainId === undefined ? ipKey(accountId, id) : domainKey(accountId, id)],
    ranges: [statisticsRange(accountId, subject, since ?? firstOfLast(usualDays, last), last)],
  };
}

/**
 * The counts of the mail of a domain or a dedicated IP, by day. Throws 422:
 * - if the days of the query are in the wrong order or too many
 * - if the named domain or dedicated IP does not exist, or the principal may not see it
 */
export async function mailStatistics(accountId: string, query: StatisticsQuery, context: Context): Promise<Statistics> {
  const days = daysOf(query, context.now());
  const subject = await subjectOf(accountId, query, context);
  const [since = "", until = ""] = [days[0], days.at(-1)];
  const counts = await readStatistics(context.table, accountId, subject, since, until);
  return {
    domain_id: subject.type === "domain" ? subject.id : null,
    dedicated_ip_id: subject.type === "dedicated_ip" ? subject.id : null,
    since,
    until,
    total: sumCounts(counts.values()),
    days: days.map((day) => ({ day, ...(counts.get(day) ?? noMail) })),
  };
}
