import { randomUUID } from "node:crypto";

import fc from "fast-check";

import { routes } from "../../functions/routes.ts";
import type { Route } from "../../shared/http/route.ts";
import { arbitraryOf, optionsOf, resolved, type Schema } from "./arbitrary.ts";
import { join, newGroup, newWorkspace } from "./auth.ts";
import { connected, uniqueName } from "./domains.ts";
import { examples, type Example } from "./examples.ts";
import { notNull, replaced, schemasOf, type Input } from "./generated.ts";
import { newRoomyAccount } from "./roomy.ts";
import { newMember, newServiceAccount, type Account } from "./world.ts";

/** One thing that an id can name. */
export type Kind = {
  is: string;
  /** Makes one in an account and answers its id. */
  make: (account: Account) => Promise<string>;
  /** What must stand beside the id for it to name this kind, where a route has such members. */
  beside?: Example;
  /** One that names nothing anywhere, where it is not a UUID; no other kind goes by the like. */
  missing?: () => string;
  /** Why an id that names nothing here is as good as one that does. */
  opaque?: string;
};

const unique = (): string => `Forged ${randomUUID()}`;

const account: Kind = { is: "account", make: async ({ id }) => id };
const client: Kind = { is: "client", make: async ({ clientId }) => clientId };
const workspace: Kind = { is: "workspace", make: (owned) => newWorkspace(owned, unique()) };
const group: Kind = { is: "group", make: async (owned) => (await newGroup(owned, unique())).id };
const program: Kind = { is: "service_account", make: async (owned) => (await newServiceAccount(owned)).id };
const user: Kind = { is: "user", make: async (owned) => (await newMember(owned, { capability: "account.view" })).id };
const member: Kind = {
  is: "member",
  make: async (owned) => {
    const id = await user.make(owned);
    await join(owned, await newGroup(owned, unique()), id);
    return id;
  },
};

const domain: Kind = {
  is: "domain",
  make: async (owned) => (await connected(owned)).name,
  missing: () => uniqueName("forged"),
};

/** What ids name that no path has, or whose example is the same in every account. */
const named: Record<string, Kind[]> = {
  account_id: [account],
  client_id: [client],
  domain: [domain],
  hosted_page_id: [{ is: "hosted page", make: async () => randomUUID(), opaque: "it is taken and not looked at" }],
  actor_id: [user, program],
  user_id: [user],
  member_id: [member],
  // An option is the operator's: none is one account's and not another's.
  option_id: [{ is: "option", make: async () => `forged-${randomUUID()}`, missing: () => `forged-${randomUUID()}` }],
  parent_id: [group],
  // It names a company, and nothing here.
  vat_id: [],
  resource_id: [
    { ...workspace, beside: { resource_type: "workspace" } },
    { ...account, beside: { resource_type: "account" } },
  ],
  subject_id: [
    { ...group, beside: { subject_type: "group" } },
    { ...program, beside: { subject_type: "service_account" } },
    {
      ...user,
      beside: { subject_type: "user" },
      opaque: "users come from an identity provider: anybody may be given something before they first sign in",
    },
  ],
};

/** The kinds of things the id at a place may name. Throws for an id that nobody said how to forge. */
export function kindsAt(route: Route, { name }: Place): Kind[] {
  const kinds = named[name];
  if (kinds) return kinds.filter(({ beside = {} }) => takes(route, beside));
  const owner = [route, ...routes].find((candidate) => name in candidate.params.shape);
  const example = owner && examples[owner.name];
  if (!example) {
    throw new Error(`${route.name} takes an id named ${name}: say in test/support/forgery.ts how to make one`);
  }
  const make = async (owned: Account): Promise<string> => String((await example(owned))[name]);
  return [{ is: name.replace(/_id$/, ""), make: owner === route ? make : elsewhere(make) }];
}

/** Examples work once in an account, so what another route's example makes is made in an account of its own. */
const elsewhere = (make: Kind["make"]) => async (): Promise<string> => make(await newRoomyAccount());

const membersOf = (route: Route) => ({ ...route.params.shape, ...route.query.shape, ...route.body.shape });

/** Whether a route allows these values, as far as it has members of their names. */
const takes = (route: Route, beside: Example): boolean =>
  Object.entries(beside).every(([name, value]) => membersOf(route)[name]?.safeParse(value).success ?? true);

/** An input with the members beside an id that make it name a kind. */
export function withBeside(route: Route, input: Input, { beside = {} }: Kind): Input {
  const among = (names: object) => Object.entries(beside).filter(([name]) => Object.hasOwn(names, name));
  return {
    ...input,
    query: { ...input.query, ...Object.fromEntries(among(route.query.shape)) },
    ...(input.body ? { body: { ...(input.body as Example), ...Object.fromEntries(among(route.body.shape)) } } : {}),
  };
}

/** Where an id can stand in a request, and what it is called there. */
export type Place = {
  part: "path" | "query" | "body";
  steps: (string | number)[];
  name: string;
  onlyInPrograms?: true;
};

/** Every place of a route where an id can stand: by its format or by its name. */
export function idPlacesOf(route: Route): Place[] {
  const { path, query, body } = schemasOf(route);
  const inPayload: Place = { part: "body", steps: ["account_id"], name: "account_id", onlyInPrograms: true };
  return [
    ...idsIn("path", path),
    ...idsIn("query", query),
    ...(body ? idsIn("body", body) : []),
    ...(route.codeMode.arguments === "payload" ? [inPayload] : []),
  ];
}

function idsIn(part: Place["part"], given: Schema, steps: (string | number)[] = []): Place[] {
  const schema = resolved(notNull(resolved(given)));
  const named = steps.findLast((step) => typeof step === "string") ?? "";
  const isText = schema.type === "string" && schema.enum === undefined;
  const isId = isText && (schema.format === "uuid" || /(?:^|_)ids?$|^domain$/.test(named));
  const { properties = {}, items } = schema;
  return [
    ...(isId ? [{ part, steps, name: named.replace(/ids$/, "id") }] : []),
    ...Object.entries(properties).flatMap(([name, member]) => idsIn(part, member, [...steps, name])),
    ...(optionsOf(schema) ?? []).flatMap((option) => idsIn(part, option, steps)),
    ...(items ? idsIn(part, items, [...steps, 0]) : []),
  ];
}

const scopeNames = new Set(["domain", "workspace_id", "mailbox"]);

/** A body without the optional members that would give another scope than the member `name` does. */
function withoutOtherScopes({ body }: Route, given: object, name: string): object {
  if (!scopeNames.has(name)) return given;
  const isOther = (other: string): boolean =>
    other !== name && scopeNames.has(other) && (body.shape[other]?.safeParse(undefined).success ?? false);
  return Object.fromEntries(Object.entries(given).filter(([other]) => !isOther(other)));
}

/** An input with an id at a place; what leads there is made up where the input does not have it. */
export function withId(route: Route, input: Input, { part, steps }: Place, id: string): Input {
  const [first] = steps;
  const schema = resolved(schemasOf(route)[part] ?? {}).properties?.[String(first)];
  const has = Object.hasOwn(input[part] ?? {}, String(first));
  const made =
    schema && steps.length > 1 && !has ? fc.sample(arbitraryOf(schema, { full: true }), { numRuns: 1, seed: 1 }) : [];
  const given = withoutOtherScopes(route, input[part] ?? {}, String(first));
  const base = made.length > 0 ? replaced(given, [String(first)], () => made[0]) : given;
  return { ...input, [part]: replaced(base, steps, () => id) };
}
