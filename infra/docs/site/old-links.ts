// The former reference had all operations on one page, at `/docs#/<family>/<operation>`.
const [, family, operation] = /^#\/([\w.-]+)(?:\/([\w.-]+))?$/.exec(location.hash) ?? [];
if (family !== undefined) location.replace(`/docs/reference/${operation ?? family}`);
