import { join } from 'node:path'
import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where `test-programs.mjs` has put the bundles. */
    readonly programs: string
  }
}

/** What Node is started with, before a program. */
export const nodeFlags = ['--disable-warning=ExperimentalWarning', '--enable-source-maps'] as const

/** Returns the bundle of a source file of ours, named by its path in `packages` without extension. */
export function program(name: string): string {
  return join(inject('programs'), `${name}.js`)
}

/** The same as a value of NODE_OPTIONS, for a program that starts others. */
export function nodeOptions(): string {
  return `--import ${JSON.stringify(join(inject('programs'), 'hook.js'))}`
}

/** What Node is started with so that `@bowline/…` means the bundles, for code that is given to it as a text. */
export function bundledFlags(): readonly string[] {
  return [...nodeFlags, '--import', join(inject('programs'), 'hook.js')]
}
