import type { RequestReport, ServerObserver } from '../../observe/server-observer.ts'
import type { Instruments } from './instruments.ts'

const msPerSecond = 1000
const tooMany = 429
const knownMethods: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Measures requests and streams. Values that a caller can invent are never labels. */
export function requestMeter(instruments: Instruments, tenants: boolean): ServerObserver {
  const tenantOf = ({ record }: RequestReport) => (tenants ? { tenant: record.principal?.tenant ?? '' } : {})
  return {
    requestEnded(report) {
      const { status, durationMs, record } = report
      const route = report.route ?? 'none'
      const method = knownMethods.includes(record.request.method) ? record.request.method : 'other'
      instruments.requests.inc({ method, route, status: String(status), ...tenantOf(report) })
      instruments.requestSeconds.observe({ method, route }, durationMs / msPerSecond)
      if (status === tooMany) instruments.rateLimited.inc({ route, code: record.problem?.code ?? 'none', ...tenantOf(report) })
    },
    streamOpened: () => instruments.streamsOpen.inc(),
    streamEnded({ endReason: reason, frames, lagEvents }) {
      instruments.streamsOpen.dec()
      instruments.streamFrames.inc(frames)
      instruments.streamEnds.inc({ reason })
      instruments.readerLag.observe(lagEvents)
    },
  }
}
