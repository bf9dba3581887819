import type { RequestView, SessionSummary } from '@bowline/client'
import { describe, expect, it } from 'vitest'
import { compareRequests } from '../../src/page/inspector/compare-requests.ts'
import { toolLabel } from '../../src/page/parts/tool-label.ts'
import { groupSessions } from '../../src/page/sessions/group-sessions.ts'

const noon = new Date(2026, 10, 27, 12).getTime()
const hourMs = 3_600_000

function session(sessionId: string, hoursAgo: number, more: Partial<SessionSummary> = {}): SessionSummary {
  return { sessionId, agent: 'demo', createdAt: 0, updatedAt: noon - hoursAgo * hourMs, metadata: {}, ...more }
}

describe('the list of sessions', () => {
  it('D19: groups by day, with forks below their origin', () => {
    const sessions = [
      session('fork', 1, { forkedFrom: { sessionId: 'old', entryId: 'm1' } }),
      session('new', 2),
      session('late', 13),
      session('old', 100),
      session('orphan', 101, { forkedFrom: { sessionId: 'gone', entryId: null } }),
    ]
    expect(
      groupSessions(sessions, '', noon).map(({ name, sessions: members }) => [
        name,
        members.map(({ session: { sessionId }, depth }) => `${depth} ${sessionId}`),
      ]),
    ).toEqual([
      ['Today', ['0 new']],
      ['Yesterday', ['0 late']],
      ['Earlier', ['0 old', '1 fork', '0 orphan']],
    ])
  })

  it('finds by title, whatever the case, or by id', () => {
    const sessions = [
      session('a', 1, { metadata: { title: 'Tell me a STORY' } }),
      session('b', 1, { metadata: { title: 'pay' } }),
      session('story-id', 1),
    ]
    const found = groupSessions(sessions, ' story ', noon).flatMap(({ sessions: members }) =>
      members.map(({ session: { sessionId } }) => sessionId),
    )
    expect(found).toEqual(['a', 'story-id'])
  })
})

describe('two requests', () => {
  const request = (prompt: readonly string[], tools: readonly string[], settings: RequestView['settings'] = {}): RequestView => ({
    id: 'm',
    purpose: 'answer',
    runId: 'r',
    turn: 1,
    step: 1,
    attempt: 1,
    at: 0,
    model: { provider: 'p', modelId: 'm' },
    messageCount: prompt.length,
    sharedCount: 0,
    toolCount: tools.length,
    prompt: prompt.map((content) => ({ role: 'user', content })),
    tools: tools.map((name) => ({ type: 'function', name })),
    settings,
  })

  it('D55: are compared by messages, tools and params', () => {
    const { rows, ...rest } = compareRequests(
      request(['a', 'b', 'x'], ['one', 'two'], { temperature: 1, seed: 3 }),
      request(['a', 'b', 'c', 'd'], ['two', 'three'], { temperature: 0, seed: 3 }),
    )
    expect(rest).toEqual({ shared: 2, toolsAdded: ['one'], toolsRemoved: ['three'], settingsChanged: ['temperature'] })
    expect(rows.map(({ same }) => same)).toEqual([true, true, false, false])
    expect(rows[3]).toEqual({ before: { role: 'user', content: 'd' }, same: false })
  })

  it('D55: the first one of a session has nothing to compare with', () => {
    expect(compareRequests(request(['a'], ['one'], { seed: 1 }), undefined)).toMatchObject({
      shared: 0,
      toolsAdded: [],
      toolsRemoved: [],
      settingsChanged: [],
    })
  })
})

it('a tool without a label is shown by its name in words', () => {
  expect(['get_location', 'delegate-to-researcher', 'x', '__'].map(toolLabel)).toEqual([
    'Get location',
    'Delegate to researcher',
    'X',
    '__',
  ])
})
