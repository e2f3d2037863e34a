import * as z from "zod";

import type { Principal } from "../../../shared/auth/principal.ts";
import { Empty, type Route, defineRoute } from "../../../shared/http/route.ts";
import { sessionLimitBytes } from "../language/limits.ts";
import { type RequestCharges, unitsToRead, unitsToWrite } from "./charges.ts";
import {
  type Session,
  type SessionRef,
  endSession,
  loadSession,
  noSession,
  renewSession,
  saveSession,
  describeVariables,
} from "./session.ts";

const moment = (description: string) => z.iso.datetime().nullable().meta({ description });

const CodeSession = z
  .object({
    session_id: z.string().meta({ description: "The session's id, as the caller sent it." }),
    principal: z
      .object({
        type: z.enum(["user", "service_account"]).meta({ description: "The type of the principal." }),
        id: z.string().meta({ description: "The principal's id." }),
        email: z.string().meta({ description: "The principal's e-mail address." }),
      })
      .meta({
        description:
          "The principal that the session belongs to. Only the programs of this principal can see the session.",
      }),
    variables: z
      .array(
        z.object({
          name: z.string().meta({ description: "The variable's name." }),
          type: z.string().meta({ description: "The type of the value: string, number, boolean, null, list or dict." }),
          bytes: z
            .int()
            .meta({ description: `How many of the session's ${sessionLimitBytes} bytes the variable takes.` }),
        }),
      )
      .meta({ description: "The variables that earlier programs assigned." }),
    created_at: moment("When the session began. Null if it has not begun."),
    last_used_at: moment("When a program last used the session."),
    expires_at: moment("When the session ends if no program uses it before."),
  })
  .meta({
    id: "CodeSession",
    description: "The variables that one principal's programs with the same `session_id` share.",
  });

const runUnbound = async (): Promise<never> => {
  throw new Error("functions/code/execution/execute.ts must bind a session function to the session before a call");
};

const common = {
  // These functions have no route of their own. Only a program calls them, and a program can arrive at this route.
  http: { method: "POST", path: "/v1/public/a2a" },
  capability: null,
  open: "A session belongs to the principal that uses it.",
} as const;

const get = defineRoute({
  ...common,
  name: "auth.session.get",
  summary: "Show the session",
  synonyms: ["variables", "stored", "kept", "remember"],
  description: "The session of this program, as earlier programs left it.",
  access: "read",
  output: CodeSession,
  run: runUnbound,
});

const end = defineRoute({
  ...common,
  name: "auth.session.end",
  summary: "End the session",
  synonyms: ["forget", "clear", "reset", "delete", "variables", "stored", "log out"],
  description: "Deletes all variables of the session. Variables that the program assigns later are kept.",
  access: "write",
  output: Empty,
  run: runUnbound,
});

const authenticate = defineRoute({
  ...common,
  name: "auth.session.authenticate",
  summary: "Begin or renew the session",
  synonyms: ["start", "new", "extend", "keep", "variables"],
  description:
    "Begins the session of this program, or renews it for an hour. The session belongs to the principal of the caller's token.",
  access: "write",
  output: CodeSession,
  run: runUnbound,
});

/** The functions for a program's own session. Only programs can call them. */
export const sessionRoutes: readonly Route[] = [get, end, authenticate];

/**
 * Binds the session functions to a program's session. Without `loaded`, the session is read once, when it is first
 * needed. `auth.session.authenticate` renews a live session, and otherwise writes a new one. Reading the session and
 * beginning it are charged.
 */
export function bindSession(ref: SessionRef, charges: RequestCharges, loaded?: Session): Map<string, Route> {
  let session = loaded && Promise.resolve(loaded);
  const current = (): Promise<Session> => (session ??= loadAndCharge(ref, charges));
  const beginOrRenew = async (): Promise<Session> => {
    const found = await current();
    const renewed = isLive(found) ? await renewSession(ref, found) : found;
    const next = isLive(renewed) ? renewed : await beginAndCharge(ref, charges);
    session = Promise.resolve(next);
    return next;
  };
  return new Map([
    bindRoute(get, async (principal) => sessionView(await current(), ref, principal)),
    bindRoute(end, async () => {
      await endSession(ref);
      session = Promise.resolve(noSession);
      return {};
    }),
    bindRoute(authenticate, async (principal) => sessionView(await beginOrRenew(), ref, principal)),
  ]);
}

/** Whether a session has begun and not ended. A session that is not live is `noSession`, whose `usedAt` is 0. */
const isLive = ({ usedAt }: Session): boolean => usedAt > 0;

async function loadAndCharge(ref: SessionRef, charges: RequestCharges): Promise<Session> {
  const session = await loadSession(ref);
  await charges.charge(unitsToRead(session.bytes));
  return session;
}

/** Begins a session. If a concurrent program began the session first, that program's variables are kept. */
const beginAndCharge = (ref: SessionRef, charges: RequestCharges): Promise<Session> =>
  saveSession(ref, new Map(), { charge: (bytes) => charges.charge(unitsToWrite(bytes)) });

const bindRoute = (route: Route, run: (principal: Principal) => Promise<unknown>): [string, Route] => [
  route.name,
  { ...route, run: (_, { principal }) => run(principal) },
];

const sessionView = (session: Session, { sessionId }: SessionRef, { type, id, email }: Principal) => ({
  session_id: sessionId,
  principal: { type, id, email },
  variables: describeVariables(session),
  created_at: session.createdAt ?? null,
  last_used_at: session.lastUsedAt ?? null,
  expires_at: session.expiresAt ?? null,
});
