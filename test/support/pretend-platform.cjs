// Preloaded into a process: it takes itself to be on PRETENDED_PLATFORM, such as darwin-arm64.
const [platform, arch] = process.env.PRETENDED_PLATFORM.split("-");
Object.defineProperty(process, "platform", { value: platform });
Object.defineProperty(process, "arch", { value: arch });
