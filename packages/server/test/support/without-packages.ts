/** Loaded first: a process in which the packages of Postgres and of MCP are not installed. */
const hook = `
  import { registerHooks } from 'node:module'
  registerHooks({
    resolve(specifier, context, next) {
      if (!/^@(bowline\\/postgres|modelcontextprotocol\\/)/.test(specifier)) return next(specifier, context)
      throw Object.assign(new Error('not installed'), { code: 'ERR_MODULE_NOT_FOUND' })
    },
  })`

/** Flags of Node for such a process. */
export const withoutPackages: readonly string[] = [
  '--disable-warning=ExperimentalWarning',
  `--import=data:text/javascript,${encodeURIComponent(hook)}`,
]
