import { lastAnswerOf } from '../commands/run-handle.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { RunRecord } from '../contract/records.ts'
import type { ChildAnswer } from './child-deliveries.ts'

type Child = Pick<RunRecord, 'id' | 'session' | 'parent' | 'step' | 'turnState'>

/** Returns the last answer of a child that has begun, for a commit that changes only how the child stands. `step`: of that answer. */
export async function lastAnswer(store: SessionStore, child: Child, step = answeredStep(child)): Promise<readonly ChildAnswer[]> {
  if (!child.parent) return []
  const message = await lastAnswerOf(store, child)
  return [message ? { step, message } : { step: 0 }]
}

function answeredStep({ step, turnState }: Child): number {
  return turnState?.stepState === 'begun' ? step - 1 : step
}
