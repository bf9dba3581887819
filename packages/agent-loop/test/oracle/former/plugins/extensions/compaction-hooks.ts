import type { CompactionHost } from '../compaction/compact.ts'
import type { HookRunner } from './run-hooks.ts'

/** The hooks of a compaction, in the form in which it asks them. */
export function compactionHooks(hooks: HookRunner): Pick<CompactionHost, 'beforeCompaction' | 'afterCompaction'> {
  return {
    async beforeCompaction(event) {
      if (!hooks.has('beforeCompaction')) return undefined
      const verdict = await hooks.beforeCompaction(event)
      switch (verdict.action) {
        case 'cancel':
          return { cancel: true, reason: verdict.reason }
        case 'replace':
          return { compaction: verdict.compaction }
        case 'go-on':
          return verdict.instructions === undefined ? undefined : { instructions: verdict.instructions }
        default: {
          const unknown: never = verdict
          return unknown
        }
      }
    },
    async afterCompaction(compaction) {
      if (hooks.has('afterCompaction')) await hooks.afterCompaction({ compaction })
    },
  }
}
