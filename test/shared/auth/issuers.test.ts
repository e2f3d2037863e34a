import { expect, test } from "vitest";

import { createIssuer } from "../../../infra/local/start/issuer.ts";
import { userVerifier } from "../../../shared/auth/user-token.ts";
import { readEnvironment } from "../../../shared/core/environment.ts";

const subject = "00000000-0000-4000-8000-00000000beef";
const first = createIssuer();
const second = createIssuer();

const claims = (iss: string) => ({ iss, aud: "api", sub: subject, exp: Math.floor(Date.now() / 1000) + 60 });
const configs = [
  { ...first.issuerConfig(), issuer: "https://one.example", audience: ["api"] },
  { ...second.issuerConfig(), issuer: "https://two.example", audience: ["api"], primary: false, typ: "any" as const },
];
const verify = userVerifier(configs);

test("the same subject at two issuers is two users", async () => {
  const one = await verify(first.sign({ alg: "ES256", typ: "at+jwt", kid: first.kid }, claims("https://one.example")));
  const two = await verify(second.sign({ alg: "ES256", kid: second.kid }, claims("https://two.example")));
  expect(one.id).toBe(subject);
  expect(two.id).not.toBe(subject);
});

test("an ID token is refused, even from an issuer whose tokens may lack a `typ`", async () => {
  for (const mark of [{ nonce: "n" }, { at_hash: "h" }, { token_use: "id" }, { typ: "ID" }]) {
    const token = second.sign({ alg: "ES256", kid: second.kid }, { ...claims("https://two.example"), ...mark });
    await expect(verify(token)).rejects.toMatchObject({ code: "unauthenticated" });
  }
});

test("an issuer cannot sign for another", async () => {
  const token = second.sign({ alg: "ES256", typ: "at+jwt", kid: second.kid }, claims("https://one.example"));
  await expect(verify(token)).rejects.toMatchObject({ code: "unauthenticated" });
});

test("an algorithm that the issuer's configuration does not list is refused, even if the issuer has a key for it", async () => {
  const strict = userVerifier([{ ...configs[0]!, algorithms: ["RS256"] }]);
  const token = first.sign({ alg: "ES256", typ: "at+jwt", kid: first.kid }, claims("https://one.example"));
  await expect(strict(token)).rejects.toMatchObject({ code: "unauthenticated" });
});

test("the error for an invalid environment names all wrong variables at once", () => {
  for (const variable of ["TABLE_NAME", "ISSUERS", "LOG_LEVEL"])
    expect(() => readEnvironment({ LOG_LEVEL: "loud" })).toThrow(variable);
  expect(() => readEnvironment({ TABLE_NAME: "t-1", ISSUERS: "not json" })).toThrow(/ISSUERS/);
  expect(() => readEnvironment({ TABLE_NAME: "t-1", ISSUERS: '[{"issuer":"x"}]' })).toThrow(/audience/);
});
