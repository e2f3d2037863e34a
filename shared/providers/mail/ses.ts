import type { SendEmailRequest } from "@aws-sdk/client-sesv2";

import { Problem } from "../../core/errors.ts";
import { isTransient } from "../aws-failure.ts";
import { MailRefused, type Letter, type Mail, type MailSender, writtenSender, automaticMailHeaders } from "./mail.ts";

export type SesOptions = {
  configurationSet?: string;
  endpoint?: string;
  /** The time limit of one attempt, in milliseconds. There are three attempts at most. */
  attemptMs?: number;
  /** The time limit of all attempts together, in milliseconds. */
  timeoutMs?: number;
};

/** Loads the SDK at the first call to SES, because most functions never call SES. */
const loadSdk = () => import("@aws-sdk/client-sesv2");

async function connect({ endpoint, attemptMs = 4_000 }: SesOptions) {
  const sdk = await loadSdk();
  const client = new sdk.SESv2Client({
    ...(endpoint === undefined ? {} : { endpoint }),
    maxAttempts: 3,
    requestHandler: {
      connectionTimeout: Math.min(2_000, attemptMs),
      requestTimeout: attemptMs,
      // Covers an answer that stops in the middle, which the other time-outs do not notice.
      socketTimeout: attemptMs,
      throwOnRequestTimeout: true,
    },
  });
  return { sdk, client };
}

const utf8 = (Data: string) => ({ Data, Charset: "UTF-8" });

function requestOf(letter: Letter, sender: MailSender, configurationSet: string | undefined): SendEmailRequest {
  const { id, to, subject, text, html } = letter;
  // SES sets the Message-ID itself, and accepts no other Message-ID (its developer guide, "header fields"). So our id
  // is in a header of its own.
  const headers = { ...automaticMailHeaders, "X-Entity-Ref-ID": id };
  return {
    FromEmailAddress: writtenSender(sender),
    Destination: { ToAddresses: [to] },
    Content: {
      Simple: {
        Subject: utf8(subject),
        Body: { Text: utf8(text), Html: utf8(html) },
        Headers: Object.entries(headers).map(([Name, Value]) => ({ Name, Value })),
      },
    },
    ...(configurationSet === undefined ? {} : { ConfigurationSetName: configurationSet }),
  };
}

/** Error codes of SES for a failure that passes by itself, and that `isTransient` does not know. */
const passingErrors = new Set(["TooManyRequestsException", "ConcurrentModificationException"]);
/** Error codes of SES that concern the letter itself, not our account. */
const refusals = new Set(["MessageRejected", "BadRequestException"]);

function failureOf(error: unknown): unknown {
  const code = error instanceof Error ? error.name : "";
  if (isTransient(error) || passingErrors.has(code)) {
    return new Problem("upstream_unavailable", "The mail service does not answer.", { retry_after: 30 });
  }
  // SES rejects every letter if it has not verified the sender, so this is not a refusal of one letter. SES writes
  // addresses into the text of its error, so this text is not passed on.
  if (code === "MessageRejected" && error instanceof Error && /not verified/i.test(error.message))
    return new Error("SES has not verified the sender, or the AWS account is in the SES sandbox.");
  return refusals.has(code) ? new MailRefused(`SES answered ${code}.`) : error;
}

/** Sends mail by Amazon SES (API v2). The sender's domain is the sending identity. */
export function sesMail(sender: MailSender, options: SesOptions = {}): Mail {
  const { configurationSet, timeoutMs = 10_000 } = options;
  let connected: ReturnType<typeof connect> | undefined;
  return {
    send: async (letter) => {
      const { sdk, client } = await (connected ??= connect(options));
      const command = new sdk.SendEmailCommand(requestOf(letter, sender, configurationSet));
      try {
        await client.send(command, { abortSignal: AbortSignal.timeout(timeoutMs) });
      } catch (error) {
        throw failureOf(error);
      }
    },
  };
}
