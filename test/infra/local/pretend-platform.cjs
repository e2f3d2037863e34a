// Preloaded into a process. The process then reports the platform PRETENDED_PLATFORM, such as darwin-arm64.
const [platform, arch] = process.env.PRETENDED_PLATFORM.split("-");
Object.defineProperty(process, "platform", { value: platform });
Object.defineProperty(process, "arch", { value: arch });
