import type { Equivalent } from './run-area.ts'

/** Mistakes that no test can notice, because nothing that can be seen depends on the difference. */
export const equivalents: readonly Equivalent[] = []
