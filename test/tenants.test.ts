import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { routes } from "../functions/routes.ts";
import type { Route } from "../shared/http/route.ts";
import { newGroup, newWorkspace } from "./support/auth.ts";
import { masked, storedOf } from "./support/entry-points.ts";
import { exampleOf, type Example } from "./support/examples.ts";
import { runInput, sendInput, type Input } from "./support/generated.ts";
import type { Answer } from "./support/request.ts";
import { newRoomyAccount } from "./support/roomy.ts";
import { newMember, newServiceAccount, type Account, type User } from "./support/world.ts";
import { idPlacesOf, kindsAt, withBeside, withId, type Kind, type Place } from "./tenants-forgery.ts";

const pick = (example: Example, names: object): Example =>
  Object.fromEntries(Object.entries(example).filter(([name]) => Object.hasOwn(names, name)));

async function inputOf(route: Route, account: Account): Promise<Input> {
  const given = await exampleOf(route, account);
  const { params, query, body } = route;
  const hasBody = Object.keys(body.shape).length > 0;
  return {
    path: pick(given, params.shape),
    query: pick(given, query.shape),
    ...(hasBody ? { body: pick(given, body.shape) } : {}),
  };
}

type EntryPoint = "REST" | "code mode";
type Said = { status: number; text: string };

/** The answer to a caller. A program's error comes without the program's line, because that line has the id. */
async function said(route: Route, entryPoint: EntryPoint, input: Input, token?: string): Promise<Said> {
  const ask = entryPoint === "REST" ? sendInput : runInput;
  const { status, body }: Answer = await ask(route, input, token);
  return { status, text: masked(JSON.parse(JSON.stringify(body, withoutExcerpt))) };
}

const withoutExcerpt = (key: string, value: unknown): unknown =>
  key === "message" ? String(value).replace(/\n[^\n]*\n\s*\^/, "") : value;

/** The status that REST would give for the outcome of a program. */
const statusOf = (entryPoint: EntryPoint, { status, text }: Said): number => {
  if (entryPoint === "REST" || status !== 200) return status;
  const { error } = JSON.parse(text) as { error?: { detail?: { status?: number } } };
  return error === undefined ? 200 : (error.detail?.status ?? 422);
};

type Asker = {
  who: string;
  /** The tokens that the asker uses in turn, a new one for each place. Empty for a caller without a credential. */
  tokens: readonly string[];
  entryPoints: readonly EntryPoint[];
  /** How much of the account the asker may see. */
  sees: "all" | "some" | "none";
};

/** A program of an account that has nothing to do with the others. */
const newStranger = async (): Promise<User> => newServiceAccount(await newRoomyAccount(), { owner: true });

/** The callers that try an id of an account. `other` is another account. */
async function askersOf(
  route: Route,
  { account, other, workspace }: Pick<Scene, "account" | "other" | "workspace">,
  places: number,
): Promise<Asker[]> {
  const viewer = await newMember(account, { role: "viewer" });
  const narrow = await newMember(account, { role: "manager", scope: { type: "workspace", id: workspace } });
  const program = await newStranger();
  // Strangers have the usual limits, also in an account with high limits. A narrow limit allows the calls of one place.
  const more = route.limit === "default" ? 0 : places - 1;
  const owners = [other.owner, ...(await Promise.all(Array.from({ length: more }, () => newMember(other, ownership))))];
  const both = ["REST", "code mode"] as const;
  const rest = ["REST"] as const;
  return [
    { who: "the owner", tokens: [account.owner.token], entryPoints: both, sees: "all" },
    { who: "a viewer", tokens: [viewer.token], entryPoints: rest, sees: "some" },
    { who: "a manager of one workspace", tokens: [narrow.token], entryPoints: rest, sees: "some" },
    { who: "another account's owner", tokens: owners.map(({ token }) => token), entryPoints: both, sees: "none" },
    { who: "another account's program", tokens: [program.token], entryPoints: rest, sees: "none" },
    { who: "nobody", tokens: [], entryPoints: rest, sees: "none" },
  ];
}

type Scene = { account: Account; other: Account; input: Input; otherInput: Input; askers: Asker[]; workspace: string };

const ownership = { owner: true } as const;

async function sceneOf(route: Route, places: number): Promise<Scene> {
  const [account, other] = await Promise.all([newRoomyAccount(), newRoomyAccount()]);
  const [input, otherInput] = await Promise.all([inputOf(route, account), inputOf(route, other)]);
  const workspace = await newWorkspace(account, `Forged ${randomUUID()}`);
  return {
    account,
    other,
    input,
    otherInput,
    workspace,
    askers: await askersOf(route, { account, other, workspace }, places),
  };
}

type Ids = { own: string; foreign: string; unfit: string; missing: string };

/**
 * The ids to try at a place: an id of the account, an id of the other account, an id of another kind, and an id that
 * names nothing.
 */
async function idsFor(place: Place, kind: Kind, scene: Scene): Promise<Ids> {
  const { account, other, input, otherInput, workspace } = scene;
  const at = ({ [place.part]: part }: Input): unknown => (part as Example | undefined)?.[String(place.steps[0])];
  const isOfExample = place.part === "path" && kind.beside === undefined && place.name !== "member_id";
  const own = isOfExample ? String(at(input)) : await kind.make(account);
  const ofAnotherKind = async () =>
    kind.is === "workspace" ? (await newGroup(account, `Forged ${randomUUID()}`)).id : workspace;
  return {
    own,
    foreign: isOfExample ? String(at(otherInput)) : await kind.make(other),
    unfit: kind.missing?.() ?? (await ofAnotherKind()),
    missing: kind.missing?.() ?? randomUUID(),
  };
}

/** The ids that must have the same answer for an asker. */
function alike(route: Route, place: Place, kind: Kind, { sees }: Asker, ids: Ids): string[] {
  const { own, foreign, unfit, missing } = ids;
  if (place.onlyInPrograms) return [foreign, unfit, missing];
  // The foreign ids belong to the asker's own account.
  if (sees === "none") return [own, missing];
  return sees === "all" && isTyped(route, kind) ? [foreign, unfit, missing] : [foreign, missing];
}

/** Whether a route has members for the kind of the thing. Without them, a filter may name any kind. */
const isTyped = (route: Route, { beside = {} }: Kind): boolean => {
  const members = { ...route.params.shape, ...route.query.shape, ...route.body.shape };
  return Object.keys(beside).every((name) => name in members);
};

/**
 * The routes that take ids, with the kinds of their ids. `kindsAt` throws if an id has no kind. Public routes are left
 * out: they know their callers by a token in the request, and have tests of their own.
 */
const cases = routes
  .filter((route) => !route.public)
  .flatMap((route) => {
    const places = idPlacesOf(route).flatMap((place) => kindsAt(route, place).map((kind) => ({ place, kind })));
    return places.length === 0 ? [] : [[route.name, { route, places }] as const];
  });

test("every id that a route takes has a kind for which ids can be forged", () => {
  expect(cases.length).toBeGreaterThan(routes.length / 2);
});

describe.each(cases)("%s", (_, { route, places }) => {
  test("answers an id of another account or another kind like a missing id, and changes nothing", async () => {
    expect.hasAssertions();
    const scene = await sceneOf(route, places.length);
    const forgeries: Forgery[] = [];
    for (const { place, kind } of places) forgeries.push({ place, kind, ids: await idsFor(place, kind, scene) });
    let stored = await storedIn(scene);
    for (const [turn, forgery] of forgeries.entries())
      stored = await tryForgery(route, forgery, scene, { stored, turn });
  });
});

type Forgery = { place: Place; kind: Kind; ids: Ids };

/** Everything stored of the account, and of the other account. */
const storedIn = ({ account, other }: Scene) => Promise.all([storedOf(account), storedOf(other)]);
type Stored = Awaited<ReturnType<typeof storedIn>>;

/** Tries every kind of id at one place as every asker. Returns the stored items after it. */
async function tryForgery(
  route: Route,
  { place, kind, ids }: Forgery,
  scene: Scene,
  { stored: before, turn }: { stored: Stored; turn: number },
): Promise<Stored> {
  const { input, askers } = scene;
  const attempts = askers.flatMap((asker) =>
    asker.entryPoints
      .filter((entryPoint) => entryPoint === "code mode" || !place.onlyInPrograms)
      .map(async (entryPoint) => {
        const inputs = alike(route, place, kind, asker, ids).map((id) =>
          withId(route, withBeside(route, input, kind), place, id),
        );
        return {
          asker,
          entryPoint,
          told: await Promise.all(
            inputs.map((one) => said(route, entryPoint, one, asker.tokens[turn % asker.tokens.length])),
          ),
        };
      }),
  );
  const tried = await Promise.all(attempts);
  expect(tried.length).toBeGreaterThan(0);
  for (const { asker, entryPoint, told } of tried) {
    const where = `${asker.who} by ${entryPoint}, ${kind.is} at ${[place.part, ...place.steps].join(".")}`;
    const statuses = told.map((one) => statusOf(entryPoint, one));
    expectHidden(route, place, asker, statuses, where);
    if (kind.opaque !== undefined && asker.sees === "all") continue;
    for (const one of told) expect({ where, ...one }).toEqual({ where, ...told[0] });
    const allowed = route.access === "write" ? statuses.filter((status) => status < 400) : [];
    expect({ where, allowed }).toEqual({ where, allowed: [] });
  }
  const after = await storedIn(scene);
  if (kind.opaque === undefined) expect(after[0]).toEqual(before[0]);
  expect(after[1]).toEqual(before[1]);
  return after;
}

/** The only status that an asker may get. Undefined if several statuses are right. */
function requiredStatus(route: Route, place: Place, { who, sees }: Asker): number | undefined {
  if (who === "nobody") return 401;
  if (place.onlyInPrograms) return 422;
  return sees === "none" && "account_id" in route.params.shape ? 404 : undefined;
}

/** Checks the statuses: an asker of another account gets 404, and an asker without a token gets 401. */
function expectHidden(route: Route, place: Place, asker: Asker, statuses: number[], where: string): void {
  const only = requiredStatus(route, place, asker);
  const wrong = statuses.filter((status) => status >= 500 || status !== (only ?? status));
  expect({ where, wrong }).toEqual({ where, wrong: [] });
}
