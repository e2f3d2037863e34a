import * as z from "zod";

import { groupLimit, groupsOf, maxDepth } from "../access/groups/group.ts";
import { readRoles, roleLimit } from "../access/roles.ts";
import { liveLimit } from "../access/service-account.ts";
import { rolesKey } from "../accounts/standing.ts";
import type { Capability } from "../auth/capabilities.ts";
import { covers } from "../auth/permissions.ts";
import { hasFeature } from "../core/features.ts";
import { largestPage } from "../core/page.ts";
import { clock } from "../core/time.ts";
import { accountLimit as ipLimit, ipsOf } from "../dedicated-ips/dedicated-ip.ts";
import { domainsOf } from "../domains/domain.ts";
import { rrsetLimits } from "../domains/records/record.ts";
import { recordLimit } from "../domains/records/stored-record.ts";
import { grantLimit, groupsLimitBytes, ownerLimit } from "../grants/holders.ts";
import { bodyLimitBytes } from "../http/json-body.ts";
import type { Context } from "../http/route.ts";
import { appPasswordLimit } from "../mail/app-passwords/app-password.ts";
import { credentials } from "../mail/credentials/credential.ts";
import { MailCount, mailCountKey, mailsPerAccountAndDay as lettersPerDay } from "../mail/forwarding/request.ts";
import { rules } from "../mail/forwarding/rule.ts";
import { targetLimit } from "../mail/forwarding/target.ts";
import { aliasLimit, mailboxesOf } from "../mail/mailboxes/mailbox.ts";
import { searchLimit } from "../mail/mailboxes/search.ts";
import { limitClasses, limitClassNames, type LimitClass } from "../rate-limits/classes.ts";
import { OwnLimits, limitsKey } from "../rate-limits/limiter.ts";
import { aheadOfLists, type List, readHeads } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import { tagLimit, tagsOf } from "../tags/tag.ts";
import { webhookLimit, webhooksOf } from "../webhooks/webhook.ts";
import { workspacesOf } from "../workspaces/workspace.ts";

/** The part of an account, or the request, that has a limit of its own. */
const Per = z.enum([
  "account",
  "account_and_day",
  "domain",
  "mailbox",
  "scope",
  "rule",
  "member",
  "service_account",
  "request",
]);

/**
 * A limit. `list` is the list of the counted items, if one list of the account has them. `view` has the capabilities
 * that a caller needs to see the counted items. If `most` is null, there is no limit.
 */
type Declared = {
  name: string;
  per: z.output<typeof Per>;
  most: number | null;
  unit: "items" | "bytes";
  description: string;
  list?: (accountId: string) => List;
  view?: Capability | readonly Capability[];
};

/** The limits on the contents of an account, and on requests. docs/limits.md has the same table. */
export const declaredLimits: readonly Declared[] = [
  {
    name: "workspaces",
    per: "account",
    most: null,
    unit: "items",
    description: "Workspaces.",
    list: workspacesOf,
    view: "workspace.view",
  },
  {
    name: "domains",
    per: "account",
    most: null,
    unit: "items",
    description: "Domains.",
    list: domainsOf,
    view: "domain.view",
  },
  {
    name: "mailboxes",
    per: "account",
    most: null,
    unit: "items",
    description: "Mailboxes.",
    list: mailboxesOf,
    view: "mailbox.view",
  },
  {
    name: "groups",
    per: "account",
    most: groupLimit,
    unit: "items",
    description: "Groups.",
    list: groupsOf,
    view: "auth.manage",
  },
  {
    name: "tags",
    per: "account",
    most: tagLimit,
    unit: "items",
    description: "Tags.",
    list: tagsOf,
    view: "account.view",
  },
  {
    name: "webhooks",
    per: "account",
    most: webhookLimit,
    unit: "items",
    description: "Webhooks.",
    list: webhooksOf,
    view: "webhook.manage",
  },
  {
    name: "dedicated_ips",
    per: "account",
    most: ipLimit,
    unit: "items",
    description: "Dedicated IPs.",
    list: ipsOf,
    view: "ip.view",
  },
  {
    name: "master_passwords",
    per: "account",
    most: credentials.perAccount,
    unit: "items",
    description: "Master passwords, those of all scopes together.",
    list: credentials.list,
    view: "credential.view",
  },
  {
    name: "master_passwords_per_scope",
    per: "scope",
    most: credentials.perScope,
    unit: "items",
    description: "Master passwords of one domain, of one workspace, or of the account as a whole.",
  },
  {
    name: "forwarding_rules",
    per: "account",
    most: rules.perAccount,
    unit: "items",
    description: "Forwarding rules, those of all scopes together.",
    list: rules.list,
    view: "forwarding.view",
  },
  {
    name: "forwarding_rules_per_scope",
    per: "scope",
    most: rules.perScope,
    unit: "items",
    description: "Forwarding rules of one mailbox, address, domain or workspace, or of the account as a whole.",
  },
  { name: "forwarding_targets", per: "rule", most: targetLimit, unit: "items", description: "Targets of a rule." },
  {
    name: "forwarding_mails",
    per: "account_and_day",
    most: lettersPerDay,
    unit: "items",
    description: "Mails that ask recipients to agree to forwarding, together with invitations, on a day (UTC).",
    view: ["forwarding.view", "auth.manage"],
  },
  { name: "aliases", per: "mailbox", most: aliasLimit, unit: "items", description: "Aliases of a mailbox." },
  {
    name: "app_passwords",
    per: "mailbox",
    most: appPasswordLimit,
    unit: "items",
    description: "App passwords of a mailbox.",
  },
  { name: "dns_records", per: "domain", most: recordLimit, unit: "items", description: "DNS records of a domain." },
  {
    name: "dns_records_per_name",
    per: "domain",
    most: rrsetLimits.records,
    unit: "items",
    description: "DNS records of one name and type.",
  },
  {
    name: "grants",
    per: "member",
    most: grantLimit,
    unit: "items",
    description:
      "Grants and roles of a user, a group or a service account. A user or a service account can also be in as many groups.",
  },
  {
    name: "groups_size",
    per: "account",
    most: groupsLimitBytes,
    unit: "bytes",
    description: "All groups with their grants: 50 to 110 bytes for each group, and 60 to 250 bytes for each grant.",
  },
  {
    name: "owners",
    per: "account",
    most: ownerLimit,
    unit: "items",
    description: "Users whose ownership of the account has no end date.",
  },
  {
    name: "roles",
    per: "account",
    most: roleLimit,
    unit: "items",
    description: "Roles that the account has made.",
    view: "auth.manage",
  },
  { name: "group_levels", per: "account", most: maxDepth, unit: "items", description: "Levels of nested groups." },
  {
    name: "service_account_tokens",
    per: "service_account",
    most: liveLimit,
    unit: "items",
    description: "Tokens that work at the same time, while you rotate them.",
  },
  { name: "page_size", per: "request", most: largestPage, unit: "items", description: "Items on a page of a list." },
  {
    name: "searched_items",
    per: "request",
    most: searchLimit,
    unit: "items",
    description: "Items that a search or a filter looks through. Narrow the search if there are more.",
  },
  { name: "request_body", per: "request", most: bodyLimitBytes, unit: "bytes", description: "The body of a request." },
];

const RequestLimit = z.object({
  class: z
    .enum(limitClassNames)
    .meta({ description: "The class of the limit. The reference names the class of each route." }),
  description: z.string().meta({ description: "The requests that the limit counts." }),
  per_minute: z.number().meta({ description: "The number of requests per minute over a longer time." }),
  burst: z.int().meta({ description: "The number of requests that can be sent at once after a pause." }),
  is_own: z.boolean().meta({ description: "Whether the limit was set for this account." }),
});

const AccountLimit = z.object({
  name: z.string().meta({ description: "The name of the limit." }),
  per: Per.meta({ description: "The subject of the limit, such as each mailbox." }),
  limit: z.int().nullable().meta({ description: "The limit. Null if there is none." }),
  used: z.int().nullable().meta({
    description:
      "How much of the limit is used. Null for limits whose use is not counted, such as the limits of each mailbox, and for callers who may not see all of the counted items.",
  }),
  unit: z.enum(["items", "bytes"]).meta({ description: "The counted unit." }),
  description: z.string().meta({ description: "A description of the limit." }),
});

export const Limits = z
  .object({
    requests: z.array(RequestLimit).meta({
      description:
        "How many requests you can send. The requests of each user and service account are counted separately.",
    }),
    limits: z.array(AccountLimit).meta({ description: "The limits on the contents of the account, and on requests." }),
    features: z
      .object({
        payments: z.boolean().meta({ description: "Whether you can top up the wallet and save a card." }),
        mail: z.boolean().meta({
          description: "Whether mail can be sent, to invite people and to ask recipients of forwarding to agree.",
        }),
        registrar: z.boolean().meta({ description: "Whether names can be searched, bought, renewed and transferred." }),
        dns: z.boolean().meta({ description: "Whether our nameservers can host the zones of domains." }),
      })
      .meta({ description: "The features of this deployment. A function that needs a missing feature answers 409." }),
  })
  .meta({ id: "Limits", description: "The limits of an account, and how much of them is used." });

/**
 * The classes of rate limits for the requests of callers, each with the requests that it counts. The other classes
 * count logins to mail servers.
 */
export const requestClasses = {
  default: "All requests that are in no other class.",
  sensitive: "Requests that make, show or check a secret.",
  search: "Requests that read much, and some that ask the DNS or the registrar.",
  outbound:
    "Requests that make us send mail or requests to others, change many things at once, make work for our staff, or use a stock that all accounts share.",
} as const satisfies Partial<Record<LimitClass, string>>;

/** The items that `accountLimits` reads. */
export const aheadOfLimits = (accountId: string): Ahead => ({
  keys: [
    limitsKey(accountId),
    mailCountKey(accountId, clock()),
    rolesKey(accountId),
    ...(aheadOfLists(listsOf(accountId).map(({ list }) => list)).keys ?? []),
  ],
});

const listsOf = (accountId: string): { name: string; list: List }[] =>
  declaredLimits.flatMap(({ name, list }) => (list ? [{ name, list: list(accountId) }] : []));

/**
 * The limits of an account. Most limits on the contents of the whole account, and the limit on its mails today, have
 * the used number, if the caller may see all of the counted items.
 */
export async function accountLimits(
  accountId: string,
  { table, permissions, now }: Context,
): Promise<z.output<typeof Limits>> {
  const lists = listsOf(accountId);
  const [own, letters, { roles }, heads] = await Promise.all([
    table.get(limitsKey(accountId), OwnLimits),
    table.get(mailCountKey(accountId, now()), MailCount),
    readRoles(table, accountId),
    readHeads(
      table,
      lists.map(({ list }) => list),
    ),
  ]);
  const used = new Map<string, number>([
    ...lists.map(({ name }, index) => [name, heads[index]?.live ?? 0] as const),
    ["forwarding_mails", letters?.count ?? 0],
    ["roles", Object.keys(roles).length],
  ]);
  const names = Object.keys(requestClasses) as (keyof typeof requestClasses)[];
  return {
    requests: names.map((name) => {
      const { perMinute, burst } = own?.classes[name] ?? limitClasses[name];
      const is_own = own?.classes[name] !== undefined;
      return { class: name, description: requestClasses[name], per_minute: perMinute, burst, is_own };
    }),
    limits: declaredLimits.map(({ name, per, most, unit, description, view = "account.view" }) => {
      const maySeeAll = [view].flat().every((capability) => covers(permissions, capability, []));
      return { name, per, limit: most, used: (maySeeAll ? used.get(name) : undefined) ?? null, unit, description };
    }),
    features: {
      payments: hasFeature("payments"),
      mail: hasFeature("mail"),
      registrar: hasFeature("registrar"),
      dns: hasFeature("dns"),
    },
  };
}
