import { clientFolder, generateClient } from "./generate.ts";

const isNew = await generateClient(clientFolder);
process.stdout.write(`${clientFolder}${isNew ? "" : " (as it was)"}\n`);
