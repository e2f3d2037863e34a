import type { APIGatewayProxyEventV2 } from "aws-lambda";
import * as z from "zod";

import { creditNoteDocument } from "../../../shared/billing/invoices/credit-note.ts";
import { documentOf } from "../../../shared/billing/invoices/invoice.ts";
import { creditNoteOfLink, invoiceOfLink } from "../../../shared/billing/invoices/links.ts";
import { renderInvoice } from "../../../shared/billing/invoices/pdf.ts";
import { Problem } from "../../../shared/core/errors.ts";
import { Id } from "../../../shared/core/ids.ts";
import type { Log } from "../../../shared/core/log.ts";
import { internalHandler } from "../../../shared/http/internal.ts";
import { failureResponse, logUnexpected, type Response } from "../../../shared/http/response.ts";
import { attachment } from "../../../shared/providers/files/files.ts";

const LinkQuery = z.object({
  accountId: Id,
  documentId: Id,
  expires: z
    .string()
    .regex(/^\d{1,12}$/)
    .transform(Number),
  signature: z.string().max(100),
});

/**
 * Reads the signed address of an invoice or a credit note. Throws 403 if a part of the address is missing or has a
 * wrong form. Does not check the signature.
 */
function readRequest({ pathParameters, rawQueryString }: APIGatewayProxyEventV2): z.output<typeof LinkQuery> {
  const { account_id: accountId, invoice_id, credit_note_id } = pathParameters ?? {};
  const query = Object.fromEntries(new URLSearchParams(rawQueryString));
  const { data } = LinkQuery.safeParse({ ...query, accountId, documentId: credit_note_id ?? invoice_id });
  if (!data) throw new Problem("forbidden", "This download address is not valid. List the documents to get a new one.");
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
  return logUnexpected(error, log);
}

/**
 * Returns the current PDF of an invoice or a credit note. The signed address, which the lists show, is the only
 * credential.
 */
export const handler = internalHandler({
  name: "billing.invoices.download",
  answer: async (event, { table, now }) => {
    const link = readRequest(event);
    const isNote = event.pathParameters?.["credit_note_id"] !== undefined;
    const document = isNote
      ? creditNoteDocument(await creditNoteOfLink(table, link, now()))
      : documentOf(await invoiceOfLink(table, link, now()));
    return {
      response: pdf(await renderInvoice(document), `${isNote ? "credit-note" : "invoice"}-${document.number}.pdf`),
      fields: { account_id: link.accountId, [isNote ? "credit_note_id" : "invoice_id"]: link.documentId },
    };
  },
  failure: (error, requestId, log) => failureResponse(problemFor(error, log), requestId),
});
