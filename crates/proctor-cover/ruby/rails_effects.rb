# frozen_string_literal: true

# What a call does beside its result, through what Rails gives tests: emails that are only collected, jobs that are only
# queued, rows and attributes of stored objects. Nothing is sent or run.
module ProctorRailsEffects
  class << self
    # What examples of the project can use: names of methods.
    attr_reader :helpers

    # Asks an example group of the project, at the place where the spec will lie, which helpers it has.
    def install(root, spec, type)
      @helpers = spec ? asked(root, spec, type) : []
    end

    def helper?(name) = (@helpers || []).include?(name)

    # Whether Rails itself collects what this class sends, so that it may be called.
    def collects?(type)
      return false unless type.is_a?(Class)

      (defined?(ActionMailer::Base) && type <= ActionMailer::Base && mail?) || (defined?(ActiveJob::Base) && type <= ActiveJob::Base && jobs?)
    end

    def mailer?(type) = !!defined?(ActionMailer::Base) && type.is_a?(Class) && type < ActionMailer::Base

    def mail? = !!defined?(ActionMailer::Base) && ActionMailer::Base.delivery_method == :test

    def jobs? = !!defined?(ActiveJob::QueueAdapters::TestAdapter) && ActiveJob::Base.queue_adapter.is_a?(ActiveJob::QueueAdapters::TestAdapter)

    # Before an attempt: nothing was sent, nothing is queued.
    def start
      ActionMailer::Base.deliveries.clear if mail?
      [ActiveJob::Base.queue_adapter.enqueued_jobs, ActiveJob::Base.queue_adapter.performed_jobs].each(&:clear) if jobs?
    end

    # What was seen, as sights of an attempt. The block gives code for a value.
    def sights(&code) = (mail? ? mails(&code) : []) + (jobs? ? jobs(&code) : [])

    # An email that was written and not sent.
    def letter?(value) = !!defined?(ActionMailer::MessageDelivery) && ActionMailer::MessageDelivery === value

    # {attribute => code} of an email.
    def letter(mail)
      found = { "subject" => mail.subject, "to" => mail.to, "from" => mail.from, "cc" => mail.cc, "reply_to" => mail.reply_to }
      codes = found.compact.transform_values { |value| yield(value) }.compact
      body = mail.multipart? ? nil : yield(mail.body.to_s)
      body ? codes.merge("body" => "have_attributes(to_s: #{body})") : codes
    rescue StandardError
      {}
    end

    private

    def asked(root, spec, type)
      return [] unless defined?(RSpec::Core::ExampleGroup)

      about = { caller: ["#{File.join(root, spec)}:1"], type: type&.to_sym }.compact
      group = RSpec::Core::ExampleGroup.describe("proctor", about)
      found = %i[create build_stubbed have_enqueued_job have_enqueued_mail].select { |name| group.method_defined?(name) }
      # Without the hooks of rspec-rails the clock would not be put back.
      found << :travel_to if group.method_defined?(:travel_to) && group.ancestors.any? { |one| one.name == "RSpec::Rails::MinitestLifecycleAdapter" }
      found
    rescue StandardError, ScriptError
      []
    end

    def mails
      list = ActionMailer::Base.deliveries
      return [] unless list.length == 1

      mail = list.first
      parts = { subject: mail.subject, to: mail.to }.filter_map { |name, value| (code = value && yield(value)) && [name, code] }
      parts.map do |name, code|
        words = name == :subject ? "sends an email about #{mail.subject.to_s.inspect}" : "sends an email to the #{recipient(code)}"
        { "kind" => "call", "matcher" => "ActionMailer::Base.deliveries.last).to have_attributes(#{name}: #{code}", "words" => words }
      end
    end

    def recipient(code)
      word = code[/(\w+)\.\w+\]?\z/, 1] || "recipient"
      word.tr("_", " ")
    end

    def jobs(&code)
      list = ActiveJob::Base.queue_adapter.enqueued_jobs
      list.group_by { |job| job[:job] }.filter_map do |type, same|
        next unless same.length == 1 && type.name

        mail_job?(type) ? later_mail(same.first, &code) : queued(type, same.first, &code)
      end
    end

    def mail_job?(type) = type.name.start_with?("ActionMailer::")

    def queued(type, job, &code)
      given = arguments(job, &code)
      words = "queues #{type.name.match?(/\A[AEIOU]/) ? 'an' : 'a'} #{type.name}"
      if helper?(:have_enqueued_job)
        with = given && given.any? ? ".with(#{given.join(', ')})" : ""
        return { "kind" => "effect", "matcher" => "have_enqueued_job(#{type.name})#{with}", "words" => words }
      end
      pairs = ["job: #{type.name}", *("args: [#{given.join(', ')}]" if given && plain?(job))]
      { "kind" => "call", "matcher" => "ActiveJob::Base.queue_adapter.enqueued_jobs.last).to include(#{pairs.join(', ')}", "words" => words }
    end

    def later_mail(job, &code)
      mailer, action = job["arguments"].first(2)
      words = "sends the email #{action.to_s.tr('_', ' ')} later"
      return { "kind" => "effect", "matcher" => "have_enqueued_mail(#{mailer}, :#{action})", "words" => words } if helper?(:have_enqueued_mail)

      { "kind" => "call", "matcher" => "ActiveJob::Base.queue_adapter.enqueued_jobs.last).to include(args: start_with(#{code.call(mailer)}, #{code.call(action)})", "words" => words }
    end

    # Whether the arguments are queued as they are.
    def plain?(job) = job["arguments"].none? { |one| one.is_a?(Hash) }

    def arguments(job)
      values = ActiveJob::Arguments.deserialize(job["arguments"])
      codes = values.map { |value| yield(value) }
      codes if codes.all?
    rescue StandardError
      nil
    end
  end
end
