import type { APIGatewayProxyEventV2 } from "aws-lambda";
import * as z from "zod";

import { invoiceOfLink } from "../../../shared/billing/invoice-links.ts";
import { renderInvoice } from "../../../shared/billing/invoice-pdf.ts";
import { documentOf } from "../../../shared/billing/invoice.ts";
import { Problem } from "../../../shared/core/errors.ts";
import { Id } from "../../../shared/core/ids.ts";
import type { Log } from "../../../shared/core/log.ts";
import { internalHandler } from "../../../shared/http/internal.ts";
import { failureResponse, type Response } from "../../../shared/http/response.ts";
import { attachment } from "../../../shared/providers/files/files.ts";

const LinkQuery = z.object({
  accountId: Id,
  invoiceId: Id,
  expires: z
    .string()
    .regex(/^\d{1,12}$/)
    .transform(Number),
  signature: z.string().max(100),
});

/** Reads the signed address of an invoice. Throws 403 for an address that was not signed here. */
function readRequest({ pathParameters, rawQueryString }: APIGatewayProxyEventV2): z.output<typeof LinkQuery> {
  const { account_id: accountId, invoice_id: invoiceId } = pathParameters ?? {};
  const query = Object.fromEntries(new URLSearchParams(rawQueryString));
  const { data } = LinkQuery.safeParse({ ...query, accountId, invoiceId });
  if (!data) throw new Problem("forbidden", "This download address is not valid. List the invoices to get a new one.");
  return data;
}

const pdf = (content: Buffer, filename: string): Response => ({
  statusCode: 200,
  headers: { "content-type": "application/pdf", "content-disposition": attachment(filename) },
  body: content.toString("base64"),
  isBase64Encoded: true,
});

function problemFor(error: unknown, log: Log): Problem {
  if (error instanceof Problem) return error;
  log.error("unexpected error", { error: error instanceof Error ? error.stack : String(error) });
  return new Problem("internal", "Something went wrong on our side. The request id helps us find it.");
}

/** Returns an invoice's current PDF to anyone who has an address that `billing.invoices.list` signed. */
export const handler = internalHandler({
  name: "billing.invoices.download",
  answer: async (event, { table, now }) => {
    const link = readRequest(event);
    const invoice = await invoiceOfLink(table, link, now());
    const content = await renderInvoice(documentOf(invoice));
    return {
      response: pdf(content, `invoice-${invoice.number}.pdf`),
      fields: { account_id: link.accountId, invoice_id: link.invoiceId },
    };
  },
  failure: (error, requestId, log) => failureResponse(problemFor(error, log), requestId),
});
