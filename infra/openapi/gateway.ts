import * as z from "zod";

/** What API Gateway answers by itself, where a request does not come to a function or none answers. */
export const GatewayAnswer = z
  .object({ message: z.string().meta({ description: "What the gateway has to say." }) })
  .meta({
    id: "GatewayAnswer",
    description:
      "An answer of the gateway in front of the API, which has neither `X-Request-Id` nor the form of our problems.",
  });

const notes: Record<string, string> = {
  400: "for a path or query with malformed percent-escapes",
  413: "for a body that is too large to be handed on",
  429: "for more requests than the whole API takes",
  500: "for an answer that could not be handed on",
  503: "for a request that took too long: it may have been done, so read before you repeat it, or repeat it with its `Idempotency-Key`",
};

/** When the gateway answers with this status, as a sentence; undefined for a status that it does not answer with. */
export const gatewayNote = (status: string): string | undefined =>
  notes[status] && `Or \`{"message": …}\` by the gateway, ${notes[status]}.`;
