import { createMemoryJournal } from '@bowline/agent-loop'
import type { Agent, AgentInput, Answers, ApprovalDecision, Journal, SubmittedResult } from '@bowline/agent-loop'
import { defineBridgeAgent } from '../agent.ts'
import type { Answer, BridgeAgent, BridgeEvent, PromptContext } from '../agent.ts'

/** Wraps an agent of the loop, with one in-memory conversation per session. */
export function loopAgent(agent: Agent): BridgeAgent {
  const journals = new Map<string, Journal>()

  function journalOf(sessionId: string): Journal {
    const journal = journals.get(sessionId) ?? createMemoryJournal()
    journals.set(sessionId, journal)
    return journal
  }

  async function* events({ session, requestId, prompt, answers, runtimeParams, abortSignal }: PromptContext): AsyncGenerator<BridgeEvent> {
    const { sessionId } = session
    const input: AgentInput = answers ? loopAnswers(answers) : prompt
    const run = agent.run(input, {
      journal: journalOf(sessionId),
      sessionKey: sessionId,
      ...(!answers && { runId: requestId }),
      runtimeParams,
      abortSignal,
    })
    for await (const event of run) yield { type: 'agent-event', event }
  }

  return defineBridgeAgent({
    specificationVersion: 'v1',
    info: { id: agent.name ?? 'agent', ...(agent.description && { description: agent.description }) },
    onPrompt: events,
    onSessionClose: ({ sessionId }) => void journals.delete(sessionId),
  })
}

/** Converts answers: a decision answers an approval; any other answer names a tool call by path and id. */
function loopAnswers(answers: readonly Answer[]): Answers {
  const approvals: ApprovalDecision[] = []
  const toolResults: SubmittedResult[] = []
  for (const answer of answers) {
    if ('decision' in answer) {
      const { id, ...decision } = answer
      approvals.push({ approvalId: id, ...decision })
    } else {
      const path = answer.id.split('/')
      const toolCallId = path.pop() as string
      toolResults.push({ toolCallId, path, ...('error' in answer ? { error: answer.error } : { output: answer.output }) })
    }
  }
  return { approvals, toolResults }
}
