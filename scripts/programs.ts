import { join } from 'node:path'
import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where `test-programs.mjs` has put the bundles. */
    readonly programs: string
    /** A value of `NODE_OPTIONS` that makes `@bowline/…` mean the bundles, for a program that starts others. */
    readonly nodeOptions: string
  }
}

/**
 * What Node is started with, before a program. `NODE_OPTIONS=--enable-source-maps` names the lines of the sources in errors: to read
 * the maps takes a third of a start.
 */
export const nodeFlags = ['--disable-warning=ExperimentalWarning', '--min-semi-space-size=16'] as const

/** Returns the bundle of a source file of ours, named by its path in `packages` without extension. */
export function program(name: string): string {
  return join(inject('programs'), `${name}.js`)
}

/** What Node is started with so that `@bowline/…` means the bundles, for code that is given to it as a text. */
export function bundledFlags(): readonly string[] {
  return [...nodeFlags, '--import', join(inject('programs'), 'hook.js')]
}
