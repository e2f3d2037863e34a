import { beforeEach, expect, test, vi } from "vitest";

import { Problem } from "../../../../shared/core/errors.ts";
import { MailRefused, type Letter } from "../../../../shared/providers/mail/mail.ts";
import { sesMail, type SesOptions } from "../../../../shared/providers/mail/ses.ts";
import { thrownBy } from "../../../support/thrown.ts";
import { timeoutFor, type Fault } from "../loopback.ts";
import { sesRefusal, startSes } from "../mail-services.ts";

const sender = { name: "Hosted Mail", address: "no-reply@mail.example" };
const letter: Letter = {
  id: "0198c2f0-0000-7000-8000-000000000001",
  to: "ada@example.net",
  subject: "Grüße",
  text: "Text",
  html: "<p>HTML</p>",
};

beforeEach(() => {
  vi.stubEnv("AWS_REGION", "eu-central-1");
  vi.stubEnv("AWS_ACCESS_KEY_ID", "AKID");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
  return () => vi.unstubAllEnvs();
});

async function scene(troubles: Fault[] = [], options: SesOptions = {}) {
  const { url, recorded } = await startSes(...troubles);
  const mail = sesMail(sender, { endpoint: url, attemptMs: timeoutFor(troubles), timeoutMs: 20_000, ...options });
  return { recorded, send: () => mail.send(letter) };
}

test("a letter is one signed request of API v2, with both parts and the headers of an automatic mail", async () => {
  const { send, recorded } = await scene();
  await send();
  expect(recorded).toMatchObject([
    {
      method: "POST",
      path: "/v2/email/outbound-emails",
      headers: {
        authorization: expect.stringMatching(
          /^AWS4-HMAC-SHA256 Credential=AKID\/\d{8}\/eu-central-1\/ses\/aws4_request, /,
        ),
      },
    },
  ]);
  expect(JSON.parse(recorded[0]?.body ?? "")).toEqual({
    FromEmailAddress: '"Hosted Mail" <no-reply@mail.example>',
    Destination: { ToAddresses: ["ada@example.net"] },
    Content: {
      Simple: {
        Subject: { Data: "Grüße", Charset: "UTF-8" },
        Body: { Text: { Data: "Text", Charset: "UTF-8" }, Html: { Data: "<p>HTML</p>", Charset: "UTF-8" } },
        Headers: [
          { Name: "Auto-Submitted", Value: "auto-generated" },
          { Name: "Precedence", Value: "bulk" },
          { Name: "X-Auto-Response-Suppress", Value: "All" },
          { Name: "X-Entity-Ref-ID", Value: letter.id },
        ],
      },
    },
  });
});

test("the request names the configuration set, if there is one", async () => {
  const { send, recorded } = await scene([], { configurationSet: "verification" });
  await send();
  expect(JSON.parse(recorded[0]?.body ?? "")).toMatchObject({ ConfigurationSetName: "verification" });
});

test.each(["MessageRejected", "BadRequestException"])(
  "%s refuses the letter for good, after one attempt",
  async (code) => {
    const { send, recorded } = await scene([sesRefusal(code)]);
    const error = await thrownBy(send());
    expect(error).toBeInstanceOf(MailRefused);
    expect(error).toMatchObject({ message: `SES answered ${code}.` });
    expect(recorded).toHaveLength(1);
  },
);

const often = <T>(fault: T): T[] => Array.from({ length: 6 }, () => fault);

test.each([
  ["a throttle", often(sesRefusal("TooManyRequestsException", 429))],
  ["a limit", often(sesRefusal("LimitExceededException"))],
  ["5xx", often(sesRefusal("InternalFailure", 500))],
  ["silence", often("silence")],
  ["an answer that stops in the middle", often("stall")],
  ["a hang-up", often("hang-up")],
  ["a garbled answer", often({ status: 200, headers: { "content-type": "application/json" }, body: "<html>" })],
] as [string, Fault[]][])("%s causes a 503", async (_, troubles) => {
  const { send } = await scene(troubles);
  const error = await thrownBy(send());
  expect(error).toBeInstanceOf(Problem);
  expect(error).toMatchObject({ code: "upstream_unavailable", status: 503, extras: { retry_after: 30 } });
});

test("a letter that fails once is sent by the next attempt", async () => {
  const { send, recorded } = await scene([sesRefusal("ServiceUnavailable", 503)]);
  await send();
  expect(recorded).toHaveLength(2);
});

test("all attempts together end within `timeoutMs`", async () => {
  const { send } = await scene(often("silence"), { attemptMs: 600_000, timeoutMs: 200 });
  expect(await thrownBy(send())).toMatchObject({ status: 503 });
});

test.each([
  "AccountSuspendedException",
  "MailFromDomainNotVerifiedException",
  "AccessDeniedException",
  "NotFoundException",
])("%s is our own mistake, and not a refusal of the letter", async (code) => {
  const { send } = await scene([sesRefusal(code, 403)]);
  const error = await thrownBy(send());
  expect(error).not.toBeInstanceOf(MailRefused);
  expect(error).not.toBeInstanceOf(Problem);
  expect(error).toMatchObject({ name: code });
});

test("an identity that SES has not verified is our own mistake, and its error names no address", async () => {
  const message =
    "Email address is not verified. The following identities failed the check in region EU-CENTRAL-1: ada@example.net";
  const { send } = await scene([sesRefusal("MessageRejected", 400, message)]);
  const error = await thrownBy(send());
  expect(error).not.toBeInstanceOf(MailRefused);
  expect(error).not.toBeInstanceOf(Problem);
  expect(error).toMatchObject({
    message: "SES has not verified the sender, or the AWS account is in the SES sandbox.",
  });
  expect(error).not.toHaveProperty("cause");
});
