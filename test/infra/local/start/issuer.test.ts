import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { JwtVerifier } from "aws-jwt-verify";
import { decomposeUnverifiedJwt } from "aws-jwt-verify/jwt";
import { expect, test } from "vitest";

import { StartProblem } from "../../../../infra/local/command-line.ts";
import {
  audience,
  createIssuer,
  issuerUrl,
  openIssuer,
  type TokenIssuer,
} from "../../../../infra/local/start/issuer.ts";
import { readEnvironment } from "../../../../shared/core/environment.ts";
import { newFolder } from "../../../support/folder.ts";

function verifierOf(issuer: TokenIssuer) {
  const { jwks } = issuer.issuerConfig();
  const verifier = JwtVerifier.create({ issuer: issuerUrl, audience });
  verifier.cacheJwks(JSON.parse(JSON.stringify(jwks)));
  return verifier;
}

const person = { sub: "u-1", email: "u@example.com", given_name: "U", groups: ["admins"] };

test("a minted token verifies with aws-jwt-verify and carries the claims of RFC 9068", async () => {
  const issuer = createIssuer();
  const before = Math.floor(Date.now() / 1000);
  const token = issuer.mint(person, { expiresInSeconds: 60 });
  const claims = await verifierOf(issuer).verify(token);
  expect(claims).toMatchObject({ ...person, iss: issuerUrl, aud: "hosted-mail-api", client_id: expect.any(String) });
  expect(claims.iat).toBeGreaterThanOrEqual(before);
  expect(claims.exp).toBe(Number(claims.iat) + 60);
  expect(claims).not.toHaveProperty("family_name");
  expect(decomposeUnverifiedJwt(token).header).toEqual({ alg: "ES256", typ: "at+jwt", kid: issuer.kid });
});

test("no two tokens have the same id", () => {
  const issuer = createIssuer();
  const ids = [1, 2].map(() => decomposeUnverifiedJwt(issuer.mint(person)).payload.jti);
  expect(new Set(ids).size).toBe(2);
});

test("a token of another key, a changed token, and an expired token do not verify", async () => {
  const issuer = createIssuer();
  const verifier = verifierOf(issuer);
  await expect(verifier.verify(createIssuer().mint(person))).rejects.toThrow();
  const [header, , signature] = issuer.mint(person).split(".");
  const [, payload] = issuer.mint({ ...person, sub: "u-2" }).split(".");
  await expect(verifier.verify(`${header}.${payload}.${signature}`)).rejects.toThrow("signature");
  await expect(verifier.verify(issuer.mint(person, { now: new Date(0) }))).rejects.toThrow("expired");
});

test("`sign` puts a valid signature under any header and payload", async () => {
  const issuer = createIssuer();
  const exp = Math.floor(Date.now() / 1000) + 60;
  const forged = issuer.sign({ alg: "ES256", typ: "JWT", kid: issuer.kid }, { iss: issuerUrl, aud: audience, exp });
  await expect(verifierOf(issuer).verify(forged)).resolves.toMatchObject({ exp });
});

test("the same private key makes the same issuer", async () => {
  const file = join(newFolder(), "issuer.json");
  const first = await openIssuer(file);
  const again = createIssuer(JSON.parse(await readFile(file, "utf8")));
  expect(again.issuerConfig()).toEqual(first.issuerConfig());
});

test("the issuer's configuration is a valid entry of ISSUERS, and has no private key", () => {
  const config = createIssuer().issuerConfig();
  const { ISSUERS } = readEnvironment({ TABLE_NAME: "test", ISSUERS: JSON.stringify([config]) });
  expect(ISSUERS).toEqual([config]);
  expect(ISSUERS[0]).toMatchObject({ algorithms: ["ES256"], typ: "at+jwt", primary: true });
  expect(config.jwks?.keys[0]).not.toHaveProperty("d");
});

test("the stored key can be read only by its owner, and outlives the process", async () => {
  const file = join(newFolder(), "issuer.json");
  const token = (await openIssuer(file)).mint(person);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  await expect(verifierOf(await openIssuer(file)).verify(token)).resolves.toMatchObject({ sub: "u-1" });
});

test("an error names a file that has no key, and does not change the file", async () => {
  const file = join(newFolder(), "issuer.json");
  for (const content of ["", "{}", '{"kty":"EC","crv":"P-256","x":"a","y":"b","d":"c"}']) {
    await writeFile(file, content);
    const problem = await openIssuer(file).catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(StartProblem);
    expect(String(problem)).toContain(file);
    expect(await readFile(file, "utf8")).toBe(content);
  }
});
