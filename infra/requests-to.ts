/** The requests that reach a Lambda: its triggers, and HEAD wherever it takes GET (RFC 9110 §9.3.2). */
export const requestsTo = (triggers: readonly string[]): string[] =>
  triggers.flatMap((trigger) => (trigger.startsWith("GET ") ? [trigger, `HEAD${trigger.slice(3)}`] : [trigger]));
