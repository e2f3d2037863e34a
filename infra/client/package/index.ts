export { HostedMail, type CodeOptions, type CodeResult } from "./client.ts";
export {
  ApiError,
  CodeError,
  ConnectionError,
  HostedMailError,
  TimeoutError,
  WebhookVerificationError,
  type InvalidPlace,
} from "./errors.ts";
export type { ApiPromise, List, Page, PagedList, WithResponse } from "./promises.ts";
export type { ClientOptions, NoArguments, RequestOptions } from "./transport.ts";
export type { EventOf } from "./events.ts";
export { verifyWebhook, type VerifyOptions, type WebhookHeaders } from "./webhooks.ts";
export type * from "./generated/functions.ts";
export type * from "./generated/types.ts";
