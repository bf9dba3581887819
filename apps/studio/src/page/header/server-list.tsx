import { CirclePlay, Server, ServerOff } from 'lucide-react'
import type { LucideIcon } from 'lucide-react'
import type { ServerInfo } from '../../info.ts'

type State = 'up' | 'owner' | 'down'

const looks: Readonly<
  Record<State, { readonly icon: LucideIcon; readonly text: string; readonly detail?: string; readonly tone: string }>
> = {
  up: { icon: Server, text: 'up', tone: 'border-line text-ink-soft' },
  owner: { icon: CirclePlay, text: 'runs this', detail: 'session', tone: 'border-transparent bg-accent-soft text-ink' },
  down: { icon: ServerOff, text: 'down', tone: 'border-line border-dashed text-bad' },
}

/** List of server processes: which are up, and which one executes the visible run. */
export function ServerList({ servers }: { readonly servers: readonly ServerInfo[] }) {
  return (
    <ul aria-label="Server processes" className="flex flex-wrap items-center gap-1.5 text-sm">
      {servers.map((server) => {
        const state = stateOf(server)
        const { icon: Icon, text, detail, tone } = looks[state]
        return (
          <li
            key={server.name}
            data-testid={`server-${server.name}`}
            data-state={state}
            className={`flex items-center gap-1.5 rounded-full border px-2.5 leading-6 whitespace-nowrap ${tone}`}
          >
            <Icon className="size-4" aria-hidden="true" />
            <span className="font-medium">Server {server.name}</span>
            <span>
              {text}
              {detail && <span className="hidden sm:inline"> {detail}</span>}
            </span>
            {server.pid !== undefined && <span className="hidden font-mono text-xs sm:inline">{server.pid}</span>}
          </li>
        )
      })}
    </ul>
  )
}

function stateOf({ pid, isOwner }: ServerInfo): State {
  if (pid === undefined) return 'down'
  return isOwner ? 'owner' : 'up'
}
