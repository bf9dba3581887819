import type { BeforeCompaction, CompactionDecision } from '../../contract/extension.ts'
import type { Compaction } from '../../events/types.ts'
import type { HookRunner } from './run-hooks.ts'

interface CompactionHooks {
  beforeCompaction(event: BeforeCompaction): Promise<CompactionDecision | undefined>
  afterCompaction(compaction: Compaction): Promise<void>
}

/** The hooks of a compaction, in the form in which it asks them. */
export function compactionHooks(hooks: HookRunner): CompactionHooks {
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
