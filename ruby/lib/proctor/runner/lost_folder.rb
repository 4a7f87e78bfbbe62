# frozen_string_literal: true

module Proctor
  module Runner
    # Failures of examples whose current folder somebody has removed. Ruby's error names neither the folder nor the likely culprit:
    # another worker, which empties a temporary folder that all of them share.
    module LostFolder
      module_function

      # Adds a sentence to the failure, in its message and in its text for people.
      def explain(error, details)
        return unless gone? || error_of?(error)

        text = "The worker's current folder#{" #{name}" if name} vanished while the example ran: another worker has probably " \
               "removed it. Run with -w 1, or give every worker a folder of its own by TEST_ENV_NUMBER."
        %i[message presented].each { |part| details[part] = "#{details[part]}\n\n#{text}" if details[part] }
      end

      # By then the example may be back in a folder that exists: then only the error tells.
      def error_of?(error)
        return error.all_exceptions.any? { |part| error_of?(part) } if error.respond_to?(:all_exceptions)

        Errno::ENOENT === error && error.message.end_with?("getcwd")
      end

      def gone?
        Dir.pwd
        false
      rescue SystemCallError
        true
      end

      # Linux still knows what it was called.
      def name
        found = File.readlink("/proc/self/cwd")
        Plain.text(found.delete_suffix(" (deleted)")) if found.end_with?(" (deleted)")
      rescue SystemCallError
        nil
      end
    end
  end
end
