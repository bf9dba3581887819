import { describe, expect, it } from 'vitest'
import * as events from '../src/events/index.ts'
import * as node from '../src/node/index.ts'
import * as repair from '../src/repair.ts'
import * as root from '../src/index.ts'

// If it turns red, ask whether the change was meant.
describe('public surface', () => {
  it('exports these names', () => {
    expect(Object.keys(root).sort()).toEqual([
      ...[
        'AgentError',
        'adoptTool',
        'canonicalJson',
        'createBudget',
        'createMemoryJournal',
        'defineAgent',
        'defineExtension',
        'defineGuardrail',
      ],
      ...[
        'defineTool',
        'emptyView',
        'eventTypes',
        'grantSchema',
        'hashJson',
        'isBoundary',
        'isDelta',
        'isDurable',
        'isEnded',
        'isSuspended',
        'lookForOutput',
        'loopGuard',
        'nullCompaction',
      ],
      ...[
        'parseInput',
        'phaseOf',
        'progressCharacters',
        'reduceEvents',
        'statusOf',
        'statuses',
        'subagentsOf',
        'summarizeMessages',
        'systemIds',
        'toolCallOf',
        'withExtensions',
      ],
    ])
    expect(Object.keys(events).sort()).toEqual([
      ...[
        'commitsOf',
        'emptyView',
        'eventTypes',
        'isBoundary',
        'isDelta',
        'isDurable',
        'isEnded',
        'isSuspended',
        'missingDeltas',
        'progressCharacters',
        'reduceEvents',
        'statusOf',
        'statuses',
        'toolCallOf',
      ],
    ])
    expect(Object.keys(node).sort()).toEqual(['loadGuardrails', 'loadSkills'])
    expect(Object.keys(repair)).toEqual(['repairTranscript'])
  })

  it('has these event types', () => {
    expect(root.eventTypes).toEqual([
      ...['approval-requested', 'approval-resolved', 'awaiting-tools', 'branch-switched', 'child-end', 'child-start', 'child-update'],
      ...['compaction-end', 'compaction-start', 'content-part', 'error', 'message-discarded', 'message-end', 'message-start'],
      ...[
        'orchestration-step',
        'output-delta',
        'reasoning-delta',
        'reasoning-end',
        'reasoning-start',
        'retry-end',
        'retry-start',
        'run-queued',
      ],
      ...['runtime-input', 'save-point', 'session-end', 'session-start', 'settled', 'step-end', 'step-start', 'text-delta'],
      ...['text-end', 'text-start', 'tool-call-delta', 'tool-call-end', 'tool-call-start', 'tool-execution-delta'],
      ...['tool-execution-end', 'tool-execution-start', 'turn-end', 'turn-start', 'usage', 'user-message'],
    ])
  })

  it('has these error codes', () => {
    const codes: Readonly<Record<root.AgentErrorCode, true>> = {
      busy: true,
      'invalid-config': true,
      'invalid-input': true,
      'invalid-transcript': true,
      'unknown-tool-call': true,
      'tool-result-conflict': true,
      'pending-calls': true,
      'nothing-to-run': true,
      'journal-failed': true,
      fenced: true,
      'unknown-approval': true,
      'approval-conflict': true,
      'extension-error': true,
      'policy-error': true,
      halted: true,
      'output-invalid': true,
    }
    expect(Object.keys(codes)).toHaveLength(16)
  })

  it('recognizes an AgentError of another copy of the package', () => {
    const foreign = Object.assign(new Error('x'), { [Symbol.for('bowline.agent-loop.error')]: true })
    expect(root.AgentError.isInstance(foreign)).toBe(true)
    expect(root.AgentError.isInstance(new Error('x'))).toBe(false)
    expect(root.AgentError.isInstance(null)).toBe(false)
    const hostile = new Proxy(
      {},
      {
        has() {
          throw new Error('looked at')
        },
      },
    )
    expect(root.AgentError.isInstance(hostile)).toBe(false)
  })
})
