import { Background, Controls, ReactFlow } from '@xyflow/react'
import type { Edge, Node } from '@xyflow/react'
import '@xyflow/react/dist/base.css'
import type { Branch, SessionSummary } from '@bowline/client'
import { useEffect, useMemo, useState } from 'react'
import { formatTime } from '../parts/duration.ts'
import { pageClient } from '../session/page-client.ts'
import { titleOf } from '../sessions/group-sessions.ts'

interface BranchesTabProps {
  readonly sessionId: string
  /** Number of the newest event. The tree is read again when it changes. */
  readonly seq: number
  readonly onSwitch: ((leaf: string) => Promise<unknown>) | undefined
  readonly onPick: (sessionId: string) => void
}

interface Loaded {
  readonly sessionId: string
  readonly branches: readonly Branch[]
  readonly forks: readonly SessionSummary[]
}

/** Tree of the conversation: its branches, and the sessions that were forked from it. */
export function BranchesTab({ sessionId, seq, onSwitch, onPick }: BranchesTabProps) {
  const [loaded, setLoaded] = useState<Loaded>()
  const [fault, setFault] = useState<string>()
  useEffect(() => {
    const leaving = new AbortController()
    const session = pageClient.session(sessionId)
    const { signal: abortSignal } = leaving
    Promise.all([session.branches({ abortSignal }), pageClient.sessions({ abortSignal })]).then(
      ([{ branches }, { sessions }]) => {
        setFault(undefined)
        setLoaded({
          sessionId,
          branches,
          forks: sessions.filter(({ forkedFrom, sessionId: id }) => forkedFrom?.sessionId === sessionId || id === sessionId),
        })
      },
      (error: unknown) => {
        if (!leaving.signal.aborted) setFault(error instanceof Error ? error.message : String(error))
      },
    )
    return () => leaving.abort()
  }, [sessionId, seq])
  const { nodes, edges } = useMemo(() => graphOf(loaded, sessionId), [loaded, sessionId])
  if (fault !== undefined) return <p className="p-4 text-sm text-ink-soft">The branches are not to be had: {fault}</p>
  if (loaded?.sessionId !== sessionId) return <p className="p-4 text-sm text-ink-soft">Loading …</p>
  const { branches, forks } = loaded
  return (
    <div className="flex h-full min-h-96 flex-col">
      <div className="min-h-48 flex-1 border-b border-line">
        <ReactFlow
          nodes={nodes}
          edges={edges}
          fitView
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          colorMode="system"
          proOptions={{ hideAttribution: true }}
          onNodeClick={(_event, { id, data }) => {
            if (data['kind'] === 'fork') onPick(id)
            else if (data['kind'] === 'branch' && onSwitch) void onSwitch(id)
          }}
        >
          <Background />
          <Controls showInteractive={false} />
        </ReactFlow>
      </div>
      <ul aria-label="Branches" className="space-y-1 p-3 text-sm">
        {branches.map((branch) => (
          <li key={branch.leaf} data-testid="branch" data-active={branch.active} className="flex items-center gap-2">
            <span className={`min-w-0 flex-1 truncate ${branch.active ? 'font-medium' : 'text-ink-soft'}`}>
              {branch.active ? 'Active branch' : (branch.label ?? 'Branch')} · {branch.entries} entries · {formatTime(branch.at)}
            </span>
            {!branch.active && onSwitch && (
              <button type="button" className="button py-0.5" onClick={() => void onSwitch(branch.leaf)}>
                Switch to it
              </button>
            )}
          </li>
        ))}
        {forks
          .filter((fork) => fork.sessionId !== sessionId)
          .map((fork) => (
            <li key={fork.sessionId} data-testid="fork" className="flex items-center gap-2">
              <span className="min-w-0 flex-1 truncate text-ink-soft">Fork · {titleOf(fork)}</span>
              <button type="button" className="button py-0.5" onClick={() => onPick(fork.sessionId)}>
                Open it
              </button>
            </li>
          ))}
      </ul>
    </div>
  )
}

const rowPixels = 64
const columnPixels = 170

function graphOf(loaded: Loaded | undefined, sessionId: string): { readonly nodes: Node[]; readonly edges: Edge[] } {
  const nodes: Node[] = [node('root', 'begin', 'root', 0, 0, false)]
  const edges: Edge[] = []
  const branches = loaded?.branches ?? []
  for (const [place, { leaf, active, entries, label }] of branches.entries()) {
    nodes.push(node(leaf, `${label ?? (active ? 'active' : 'branch')} · ${entries}`, 'branch', place, 1, active))
    edges.push({ id: `root-${leaf}`, source: 'root', target: leaf, animated: active })
  }
  const main = branches.find(({ active }) => active)?.leaf ?? 'root'
  for (const [place, fork] of (loaded?.forks ?? []).filter((fork) => fork.sessionId !== sessionId).entries()) {
    nodes.push(node(fork.sessionId, `fork · ${titleOf(fork)}`, 'fork', place, 2, false))
    edges.push({ id: `fork-${fork.sessionId}`, source: main, target: fork.sessionId, style: { strokeDasharray: '4 4' } })
  }
  return { nodes, edges }
}

function node(id: string, label: string, kind: 'root' | 'branch' | 'fork', column: number, row: number, active: boolean): Node {
  return {
    id,
    position: { x: column * columnPixels, y: row * rowPixels },
    data: { label, kind },
    className: `tree-node ${active ? 'tree-node-active' : ''}`,
  }
}
