type Status = { recipient?: string; original?: string; action?: string; status?: string; diagnostic?: string };

const lines = (...all: string[]): string => all.join("\r\n");

/** A mail with a multipart/report of three parts. */
function report(type: string, machine: string, { from = "ada@acme.example", to = "bob@far.example" }, kind: string) {
  return lines(
    "From: Mail Delivery System <mailer-daemon@mx.far.example>",
    "To: <bounces@relay.example>",
    "Subject: Report",
    "MIME-Version: 1.0",
    `Content-Type: multipart/report; report-type=${type};`,
    '\tboundary="frontier"',
    "",
    "--frontier",
    "Content-Type: text/plain; charset=utf-8",
    "",
    "Your mail had no luck.",
    "--frontier",
    `Content-Type: message/${type}`,
    "",
    machine,
    "--frontier",
    `Content-Type: ${kind}`,
    "",
    `From: Ada <${from}>`,
    `To: ${to}`,
    "Subject: Hello",
    "",
    ...(kind === "message/rfc822" ? ["The text.", ""] : []),
    "--frontier--",
    "",
  );
}

type Mail = { from?: string; to?: string };

/** A delivery status notification about some recipients (RFC 3464). */
export const bounce = (recipients: readonly Status[], mail: Mail = {}): string =>
  report(
    "delivery-status",
    lines(
      "Reporting-MTA: dns; mx.far.example",
      "Arrival-Date: Mon, 23 Nov 2026 12:00:00 +0000",
      "",
      ...recipients.map(
        ({ recipient = "bob@far.example", original, action = "failed", status = "5.1.1", diagnostic }) =>
          lines(
            ...(original === undefined ? [] : [`Original-Recipient: rfc822;${original}`]),
            `Final-Recipient: rfc822; ${recipient}`,
            `Action: ${action}`,
            `Status: ${status}`,
            ...(diagnostic === undefined ? [] : [`Diagnostic-Code: smtp; ${diagnostic}`]),
            "",
          ),
      ),
    ),
    mail,
    "text/rfc822-headers",
  );

/** A feedback report (RFC 5965) with these fields. */
export const complaint = (fields: readonly string[], mail: Mail = {}): string =>
  report("feedback-report", lines("User-Agent: Feedback/1.0", "Version: 1", ...fields, ""), mail, "message/rfc822");

export const base64 = (text: string | Uint8Array): string => Buffer.from(text).toString("base64");
