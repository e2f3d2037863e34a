import { readAndChange } from "./read-and-change.ts";

readAndChange("third-edition");
