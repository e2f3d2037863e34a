import { readWords } from "../openapi/command-line.ts";
import { clientFolder, generateClient } from "./generate.ts";

readWords("Usage: npm run client\n\nWrites the TypeScript client to dist/client.");
const isNew = await generateClient(clientFolder);
process.stdout.write(`${clientFolder}${isNew ? "" : " (unchanged)"}\n`);
