import { afterEach, expect, test, vi } from "vitest";

import { MailSecretEnvironment } from "../../../shared/providers/mail/secret.ts";
import { askMailRoute } from "../../support/mail-routes.ts";

const [current, next] = ["the key of mail servers", "the next key of theirs"];

afterEach(() => void vi.unstubAllEnvs());

/** The status that each key gets while the keys of `secret` are valid. */
async function statuses(secret: string, keys: readonly string[]): Promise<number[]> {
  vi.stubEnv("MAIL_SECRET", secret);
  const answers = await Promise.all(
    keys.map((key) => askMailRoute("recipient", "address=ada@example.org", { "x-mail-key": key })),
  );
  return answers.map(({ status }) => status ?? 0);
}

test("each of two keys is valid, and a part of a key or both keys together are not", async () => {
  const both = `${current},${next}`;
  expect(await statuses(both, [current, next, both, current.slice(1), `${current},`, ",", ""])).toEqual([
    200, 200, 401, 401, 401, 401, 401,
  ]);
});

test("a key that was replaced is not valid any more", async () => {
  expect(await statuses(next, [current, next])).toEqual([401, 200]);
});

test.each([`${current},short`, `,${current}`, `${current},`, [current, next, "a third key of theirs"].join(",")])(
  "MAIL_SECRET must be one key or two keys of at least 16 characters, so this is refused: %s",
  (MAIL_SECRET) => {
    expect(MailSecretEnvironment.safeParse({ MAIL_SECRET }).success).toBe(false);
  },
);
