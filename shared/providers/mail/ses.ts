import type { SendEmailRequest } from "@aws-sdk/client-sesv2";

import { Problem } from "../../core/errors.ts";
import { mayPass } from "../aws-failure.ts";
import { automatic } from "./headers.ts";
import { MailRefused, type Letter, type Mail } from "./mail.ts";
import { type MailSender, writtenSender } from "./sender.ts";

export type SesOptions = {
  configurationSet?: string;
  endpoint?: string;
  /** For one attempt, and for the three that there are at most. */
  attemptMs?: number;
  timeoutMs?: number;
};

/** The SDK is loaded by the first letter, as most functions never send one. */
const loadSdk = () => import("@aws-sdk/client-sesv2");

async function connect({ endpoint, attemptMs = 4_000 }: SesOptions) {
  const sdk = await loadSdk();
  const client = new sdk.SESv2Client({
    ...(endpoint === undefined ? {} : { endpoint }),
    maxAttempts: 3,
    requestHandler: {
      connectionTimeout: Math.min(2_000, attemptMs),
      requestTimeout: attemptMs,
      // For an answer that stops in the middle, which the above does not see.
      socketTimeout: attemptMs,
      throwOnRequestTimeout: true,
    },
  });
  return { sdk, client };
}

const utf8 = (Data: string) => ({ Data, Charset: "UTF-8" });

function requestOf(letter: Letter, sender: MailSender, configurationSet: string | undefined): SendEmailRequest {
  const { id, to, subject, text, html } = letter;
  // SES makes a Message-ID of its own and no other (its developer guide, "header fields"): our id is beside it.
  const headers = { ...automatic, "X-Entity-Ref-ID": id };
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

const passing = new Set(["TooManyRequestsException", "ConcurrentModificationException"]);
/** What SES says of the letter, not of us. */
const refusals = new Set(["MessageRejected", "BadRequestException"]);

function meant(error: unknown): unknown {
  const code = error instanceof Error ? error.name : "";
  if (mayPass(error) || passing.has(code)) {
    return new Problem("upstream_unavailable", "The mail service does not answer.", { retry_after: 30 });
  }
  return refusals.has(code) ? new MailRefused(`SES answered ${code}.`) : error;
}

/** Mail by Amazon SES (API v2), whose sending identity the sender's domain is. */
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
        throw meant(error);
      }
    },
  };
}
