import { randomUUID } from "node:crypto";

import fc from "fast-check";

import { routes } from "../functions/routes.ts";
import type { Route } from "../shared/http/route.ts";
import { arbitraryOf, optionsOf, resolved, type Schema } from "./support/arbitrary.ts";
import { join, newGroup, newWorkspace } from "./support/auth.ts";
import { connected, uniqueName } from "./support/domains.ts";
import { examples, type Example } from "./support/examples.ts";
import { notNull, replaced, schemasOf, type Input } from "./support/generated.ts";
import { newRoomyAccount } from "./support/roomy.ts";
import { newMember, newServiceAccount, type Account } from "./support/world.ts";

/** A kind of thing that an id can name. */
export type Kind = {
  is: string;
  /** Makes a thing of this kind in an account, and returns its id. */
  make: (account: Account) => Promise<string>;
  /** The other members of a request that make the id name this kind, if a route has such members. */
  beside?: Example;
  /** Makes an id that names nothing, for a kind whose ids are not UUIDs. No other kind has ids of this form. */
  missing?: () => string;
  /** Why an id that names nothing may get the same answer as an id that names something. */
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

/** The kinds of the ids that are in no path, or whose example is the same in every account. */
const named: Record<string, Kind[]> = {
  account_id: [account],
  client_id: [client],
  domain: [domain],
  hosted_page_id: [
    { is: "hosted page", make: async () => randomUUID(), opaque: "the route accepts the id, but does not use it" },
  ],
  actor_id: [user, program],
  user_id: [user],
  member_id: [member],
  // Options belong to the operator, and not to an account.
  option_id: [{ is: "option", make: async () => `forged-${randomUUID()}`, missing: () => `forged-${randomUUID()}` }],
  parent_id: [group],
  // A VAT id names a company, and nothing in the product.
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

/** The kinds of things that the id at a place may name. Throws for an id without an entry here. */
export function kindsAt(route: Route, { name }: Place): Kind[] {
  const kinds = named[name];
  if (kinds) return kinds.filter(({ beside = {} }) => takes(route, beside));
  const owner = [route, ...routes].find((candidate) => name in candidate.params.shape);
  const example = owner && examples[owner.name];
  if (!example) {
    throw new Error(`${route.name} takes an id named ${name}: say in test/tenants-forgery.ts how to make one`);
  }
  const make = async (owned: Account): Promise<string> => String((await example(owned))[name]);
  return [{ is: name.replace(/_id$/, ""), make: owner === route ? make : elsewhere(make) }];
}

/** An example works only once in an account. So the example of another route runs in an account of its own. */
const elsewhere = (make: Kind["make"]) => async (): Promise<string> => make(await newRoomyAccount());

const membersOf = (route: Route) => ({ ...route.params.shape, ...route.query.shape, ...route.body.shape });

/** Whether a route allows the values of `beside` in its members with the same names. */
const takes = (route: Route, beside: Example): boolean =>
  Object.entries(beside).every(([name, value]) => membersOf(route)[name]?.safeParse(value).success ?? true);

/** Adds the members beside an id that make the id name a kind. */
export function withBeside(route: Route, input: Input, { beside = {} }: Kind): Input {
  const among = (names: object) => Object.entries(beside).filter(([name]) => Object.hasOwn(names, name));
  return {
    ...input,
    query: { ...input.query, ...Object.fromEntries(among(route.query.shape)) },
    ...(input.body ? { body: { ...(input.body as Example), ...Object.fromEntries(among(route.body.shape)) } } : {}),
  };
}

/** A place for an id in a request, and the name of the id. */
export type Place = {
  part: "path" | "query" | "body";
  steps: (string | number)[];
  name: string;
  onlyInPrograms?: true;
};

/** Every place of a route that takes an id, found by the format or the name. */
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
  const memberName = steps.findLast((step) => typeof step === "string") ?? "";
  const isText = schema.type === "string" && schema.enum === undefined;
  const isId = isText && (schema.format === "uuid" || /(?:^|_)ids?$|^domain$/.test(memberName));
  const { properties = {}, items } = schema;
  return [
    ...(isId ? [{ part, steps, name: memberName.replace(/ids$/, "id") }] : []),
    ...Object.entries(properties).flatMap(([name, member]) => idsIn(part, member, [...steps, name])),
    ...(optionsOf(schema) ?? []).flatMap((option) => idsIn(part, option, steps)),
    ...(items ? idsIn(part, items, [...steps, 0]) : []),
  ];
}

const scopeNames = new Set(["domain", "workspace_id", "mailbox", "dedicated_ip_id"]);

/** Removes the optional members of a body or query that would give another scope than the member `name`. */
function withoutOtherScopes({ body, query }: Route, given: object, name: string): object {
  if (!scopeNames.has(name)) return given;
  const shape = { ...query.shape, ...body.shape };
  const isOther = (other: string): boolean =>
    other !== name && scopeNames.has(other) && (shape[other]?.safeParse(undefined).success ?? false);
  return Object.fromEntries(Object.entries(given).filter(([other]) => !isOther(other)));
}

/** Puts an id into a place of an input. Missing members on the way to the place are made up. */
export function withId(route: Route, input: Input, { part, steps }: Place, id: string): Input {
  const first = String(steps[0]);
  const given = withoutOtherScopes(route, input[part] ?? {}, first);
  const schema = resolved(schemasOf(route)[part] ?? {}).properties?.[first];
  const isNested = steps.length > 1;
  if (!schema || !isNested || Object.hasOwn(input[part] ?? {}, first)) {
    return { ...input, [part]: replaced(given, steps, () => id) };
  }
  const [made] = fc.sample(arbitraryOf(schema, { full: true }), { numRuns: 1, seed: 1 });
  const base = replaced(given, [first], () => made);
  return { ...input, [part]: replaced(base, steps, () => id) };
}
