import { faultOf } from '../http/fault.ts'
import type { Logger } from '../options.ts'
import type { ComposedObserver, ServerObserver } from './server-observer.ts'

type Call = Exclude<keyof ServerObserver, 'around'>

/** Combines observers. The first one wraps the others. An error of an observer affects neither the others nor the request. */
export function composeObservers(observers: readonly ServerObserver[], logger: Logger): ComposedObserver {
  const tell = <Name extends Call>(name: Name, ...report: Parameters<ComposedObserver[Name]>): void => {
    for (const observer of observers) {
      try {
        ;(observer[name] as ((...each: Parameters<ComposedObserver[Name]>) => void) | undefined)?.(...report)
      } catch (error) {
        logger.error(faultOf(error), 'an observer failed')
      }
    }
  }
  return {
    around: (record, answer) =>
      observers.reduceRight<() => Promise<Response>>(
        (inner, observer) => () => (observer.around ? observer.around(record, inner) : inner()),
        answer,
      )(),
    requestEnded: (report) => tell('requestEnded', report),
    streamOpened: (report) => tell('streamOpened', report),
    streamEnded: (report) => tell('streamEnded', report),
  }
}
