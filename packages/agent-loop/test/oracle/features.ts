/** What the scripts must reach, by what it leaves in a trace; an asterisk is any text. */
export const features = [
  // What models do.
  ...['delta text-delta', 'delta reasoning-delta', 'delta tool-call-delta', 'answer stop', 'answer tool-calls', 'answer length', 'answer error', 'answer aborted'],
  ...['event retry-start cause error', 'event retry-start cause fallback', 'event retry-start cause overflow', 'event retry-end success false', 'run has notBefore'],
  ...['model main', 'model child', 'model other', 'call agent planned.model', 'message paused', 'error retry-after'],
  // What tools do.
  ...['event tool-execution-start effect pure', 'event tool-execution-start effect idempotent', 'event tool-execution-start effect once', 'call is remote'],
  ...['delta tool-execution-delta', 'act throw', 'act reject', 'act hang', 'act deaf', 'act late', 'act quit', 'act steer', 'act overlay', 'act report', 'act compact', 'act flood'],
  ...['act spawn', 'act not-json', 'act large', 'event turn-end reason terminated', 'result unknown', 'result cancelled', 'result denied', 'result error'],
  ...['event tool-execution-end executed elsewhere', 'event tool-execution-end executed no', 'event tool-execution-end executed here'],
  // Approvals and answers.
  ...['onApproval approve', 'onApproval deny', 'onApproval later', 'onApproval open', 'onApproval throw', 'onApproval hang', 'onApproval wrong', 'event approval-requested'],
  ...['event approval-resolved decision approve', 'event approval-resolved decision deny', 'event approval-resolved decision cancelled', 'event approval-resolved editedInput given'],
  ...['call onApproval', 'input answers', 'input nothing', 'input message', 'event turn-start cause answers', 'event turn-start cause recovery', 'result has submission', 'refused *'],
  ...['nested awaiting-tools', 'nested approval-requested', 'event of a subagent approval-resolved'],
  // Hooks.
  ...['call hook.onInput', 'call hook.beforeAgentStart', 'call hook.onTurnStart', 'call hook.transformContext', 'call hook.onStepStart', 'call hook.onStepEnd'],
  ...['call hook.beforeModelCall', 'call hook.afterModelCall', 'call hook.onToolCall', 'call hook.onToolResult', 'call hook.onToolSettled', 'call hook.beforeCompaction'],
  ...['call hook.afterCompaction', 'call hook.onRetryStart', 'call hook.onRetryEnd', 'call hook.onAgentEnd', 'call hook.onSavePoint', 'call hook.onSettled', 'call hook.onEvent'],
  ...['hook.onInput says transform', 'hook.onInput says handled', 'hook.beforeAgentStart says instructions', 'hook.beforeAgentStart says append', 'hook.transformContext says messages'],
  ...['hook.beforeModelCall says activeTools', 'hook.beforeModelCall says runtimeParams', 'hook.beforeModelCall says toolChoice', 'hook.beforeModelCall says shownTools'],
  ...['hook.onToolCall says modify', 'hook.onToolCall says reject-and-continue', 'hook.onToolCall says synthesize', 'hook.onToolCall says error'],
  ...['hook.onToolResult says output', 'hook.onToolResult says isError', 'hook.onToolResult says terminate', 'hook.onToolResult says status,output', 'hook.onToolResult says status,details'],
  ...['hook.beforeCompaction says cancel,reason', 'hook.beforeCompaction says instructions', 'run has extensionState', 'event orchestration-step', 'event error source extension'],
  // Guardrails.
  ...['call guardrail.onTurnStart', 'call guardrail.onTurnEnd', 'guardrail.beforeCall says warn', 'guardrail.beforeCall says block', 'guardrail.beforeCall says halt'],
  ...['guardrail.afterCall says warn', 'guardrail.afterCall says halt', 'event turn-end reason guardrail', 'event error source guardrail', 'loop guard warns', 'loop guard blocks', 'loop guard halts'],
  // Budgets and limits.
  ...['event turn-end reason max-steps', 'event turn-end reason max-tool-calls', 'event turn-end reason max-total-tokens', 'event turn-end reason max-cost', 'event turn-end reason max-duration'],
  ...['event turn-end reason output-length', 'limit maxDepth', 'extra maxQueuedInputs 0', 'shared budget', 'result has cost', 'given * queue-full', 'given * run-ended'],
  // Compaction.
  ...['event compaction-start trigger threshold', 'event compaction-start trigger window', 'event compaction-start trigger overflow', 'event compaction-start trigger requested'],
  ...['event compaction-start trigger manual', 'event compaction-end outcome done', 'event compaction-end outcome skipped', 'event compaction-end outcome cancelled', 'event compaction-end outcome failed'],
  ...['record compaction', 'run has compactionDue', 'compact done'],
  // Subagents.
  ...['event child-start', 'event child-update', 'event child-end status completed', 'event child-end status error', 'extra bareHelper true', 'call host.start'],
  ...['event usage purpose child', 'event usage purpose compaction', 'event usage purpose discarded-attempt'],
  // Inputs.
  ...['given steer accepted', 'given overlay accepted', 'given follow-up accepted', 'enqueue', 'record overlay', 'record inputs-taken', 'answer runs-queued', 'answer inputs-waiting'],
  ...['event runtime-input placement turn-start', 'event runtime-input placement step-start', 'event runtime-input placement step-end', 'event runtime-input source notify'],
  ...['result has unusedInputs', 'extra overlays true', 'extra options true', 'extra remote true', 'extra pinned all', 'extra pinned later'],
  // Functions of the agent.
  ...['call agent planned.prepareStep', 'agent planned.prepareStep says activeTools', 'call agent planned.stopWhen', 'event turn-end reason stop-when', 'call agent planned.ephemeral'],
  ...['call agent planned.instructions', 'event error source ephemeral', 'event error source prompt'],
  // Retries of a turn.
  ...['event message-discarded reason retry', 'event message-discarded reason rewind', 'event message-discarded reason failed', 'event message-discarded reason crash'],
  // Ends of runs.
  ...['disturbance abort', 'disturbance signal', 'disturbance yield', 'disturbance fenced', 'disturbance reader', 'event turn-end receipt given', 'result aborted yielded', 'call is unknown'],
  ...['event turn-end reason policy-error', 'event turn-end reason extension-error', 'event turn-end reason handled', 'result * journal-error', 'result * refused', 'it stands still'],
  // Readers.
  ...['mode synchronized', 'reader with every delta', 'driver leaves'],
  ...['death before rejects', 'death after rejects', 'death before is-silent', 'death after is-silent'],
] as const

/** Says for each feature how many scripts have reached it. */
export class Reach {
  readonly #scripts = new Map<string, number>()
  /** How often all scripts together have come to each thing. */
  readonly totals = new Map<string, number>()

  add(reached: ReadonlyMap<string, number>): void {
    for (const feature of features) {
      const pattern = patternOf(feature)
      if (reached.has(feature) || (pattern && [...reached.keys()].some((name) => pattern.test(name)))) this.#scripts.set(feature, this.scripts(feature) + 1)
    }
    for (const [name, times] of reached) this.totals.set(name, (this.totals.get(name) ?? 0) + times)
  }

  scripts(feature: string): number {
    return this.#scripts.get(feature) ?? 0
  }

  /** Returns how often all scripts together have come to something. */
  times(name: string): number {
    return this.totals.get(name) ?? 0
  }

  /** Returns the features that fewer scripts have reached. */
  below(least: number): readonly string[] {
    return features.filter((feature) => this.scripts(feature) < least).map((feature) => `${feature}: ${this.scripts(feature)}`)
  }
}

const patterns = new Map<string, RegExp>()

function patternOf(feature: string): RegExp | undefined {
  if (!feature.includes('*')) return undefined
  const known = patterns.get(feature) ?? new RegExp(`^${feature.replaceAll('*', '.*')}$`)
  patterns.set(feature, known)
  return known
}
