import type { Folds } from './folds.ts'

/** Retries and compactions. */
export const foldContext: Folds<'retry-start' | 'retry-end' | 'compaction-start' | 'compaction-end'> = {
  'retry-start': (_view, { attempt, maxAttempts, delayMs, notBefore, cause, model, error }) => ({
    retry: { attempt, maxAttempts, delayMs, notBefore, cause, error, ...(model && { model }) },
  }),
  'retry-end': () => ({ retry: undefined }),
  'compaction-start': (view) => (view.phase === 'idle' ? { phase: 'compaction' } : {}),
  'compaction-end': (view, { compaction }) => ({
    ...(view.phase === 'compaction' && { phase: 'idle' }),
    ...(compaction && { compaction }),
  }),
}
