import { typeOf } from "../interpreter/value.ts";
import { bytesOf, sessionLimitBytes, type Gone, type Session } from "./session.ts";

/** Why a variable is not there, for whoever asks for it. */
export const reasonOf: Record<Gone, string> = {
  secret:
    "Its value held a secret, or an address that is a key itself, which a session never keeps: call the function and use its result in one program.",
  session_too_large: `Its value had no room in the session, which keeps ${sessionLimitBytes} bytes: keep only the members you need, as in [x.id for x in page.items].`,
};

/** The names a program may use: with the reason where the value is gone. */
export const namesOf = ({ variables }: Session): Map<string, string | undefined> =>
  new Map([...variables].map(([name, kept]) => [name, "gone" in kept ? reasonOf[kept.gone] : undefined]));

/** The values that are there. */
export const valuesOf = ({ variables }: Session): Map<string, unknown> =>
  new Map([...variables].flatMap(([name, kept]) => ("value" in kept ? [[name, kept.value] as const] : [])));

/** The variables that are there, as `auth.session.get` shows them. */
export const shownVariables = ({ variables }: Session): { name: string; type: string; bytes: number }[] =>
  [...variables].flatMap(([name, kept]) =>
    "value" in kept ? [{ name, type: typeOf(kept.value), bytes: bytesOf(name, kept) }] : [],
  );
