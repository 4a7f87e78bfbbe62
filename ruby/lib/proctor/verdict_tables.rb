# frozen_string_literal: true

# Generated from crates/proctor-verdict/tables.json by `cargo run -p proctor-verdict --example generate`; do not edit.
module Proctor
  # What statuses and faults say about what was tested, as data.
  module VerdictTables
    EVIDENCE = {
      "cancelled" => :nothing,
      "crashed" => :against,
      "errored" => :against,
      "failed" => :against,
      "inconclusive" => :nothing,
      "not_run" => :nothing,
      "passed" => :for,
      "pending" => :nothing,
      "timed_out" => :against,
    }.freeze
    EVIDENCE_OF_UNKNOWN_STATUS = :against
    EXCUSING_FAULTS = %w[simulator judge tool harness].freeze
    NEVER_MADE = %w[cancelled not_run].freeze
    # What can become of an example, worst first.
    OUTCOMES = %w[failed crashed timed_out errored inconclusive unfinished running cancelled not_run pending within_rate flaky passed].freeze
    RUN_STATES = %w[loading running finished stopped died did_not_load nothing_found].freeze

    # :for, :against or :nothing.
    def self.evidence(status, fault = nil)
      return :nothing if EXCUSING_FAULTS.include?(fault.to_s)

      EVIDENCE.fetch(status.to_s, EVIDENCE_OF_UNKNOWN_STATUS)
    end
  end
end
